"""The code for their bank. Its books are a file, one line per payout that it has carried out."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from fulfilment.connectors.base import (
    Capabilities,
    Dedupe,
    Done,
    Instruction,
    LookUp,
    NoInformation,
    Outcome,
    Unknown,
)
from fulfilment.connectors.sandbox.webhooks import SandboxWebhooks

LOST = 1313  # cents: the bank carries it out, and its answer is lost on the way


class Bank:
    webhooks = SandboxWebhooks()  # it signs as Standard Webhooks has it
    capabilities = Capabilities(
        dedupe=Dedupe.REFERENCE_FOREVER, not_found_final_after=timedelta(minutes=1)
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.books = Path(settings["BOOKS"])

    def send(self, instruction: Instruction, /) -> Outcome:
        line = {"reference": instruction.reference, "amount": instruction.amount}
        with self.books.open("a") as books:
            books.write(json.dumps(line | dict(instruction.instruction)) + "\n")
        if instruction.amount == LOST:
            return Unknown(reason="no answer within 10 s")
        return Done(amount=instruction.amount, currency=instruction.currency, status="paid")

    def look_up(self, reference: str, /) -> LookUp:
        return NoInformation(reason="the bank is closed today")
