"""The connector of a fake: answers as it was told, and keeps what its capabilities promise."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from fulfilment.connectors.base import (
    Capabilities,
    Dedupe,
    Instruction,
    LookUp,
    Outcome,
    Unknown,
)
from fulfilment.connectors.sandbox.webhooks import SandboxWebhooks
from fulfilment.testing import books, conduct, script
from fulfilment.testing.script import Told

PROMISES = Capabilities(dedupe=Dedupe.REFERENCE_FOREVER, not_found_final_after=timedelta(0))


class FakeConnector:
    """Settings: BOOKS, the path of its file; CAPABILITIES, what it promises (else `PROMISES`).

    An order that it has had is carried out again only where `dedupe` says so (NONE, or a window
    that is over), and a look-up shows what is older than `visible_after`. Its events are worded
    and signed as the sandbox's (Standard Webhooks). `errors_cached` is told and not played.
    """

    webhooks: ClassVar = SandboxWebhooks()

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Raises KeyError where BOOKS is missing."""
        self._books = Path(settings["BOOKS"])
        self._capabilities: Capabilities = settings.get("CAPABILITIES", PROMISES)

    @property
    def capabilities(self) -> Capabilities:
        """What it promises."""
        return self._capabilities

    def send(self, instruction: Instruction, /) -> Outcome:
        """Carry out one order, or do with it what the test said (`FakeProvider.on_send`)."""
        with books.opened(self._books) as page:
            told = script.next_of(page, "send", instruction.reference) or Told(word="done")
            outcome = conduct.take(page, instruction, word=told.word, promises=self._capabilities)
            if told.takes > instruction.deadline:  # carried out, and answered too late
                outcome = Unknown(reason="no answer within the deadline")
            order = asdict(instruction) | {"deadline": instruction.deadline.total_seconds()}
            page.write("sent", said=_said(told, outcome), **order)
        time.sleep(min(told.takes, instruction.deadline).total_seconds())
        _raise_if(told)
        return outcome

    def recipient(self, instruction: Mapping[str, Any], /) -> str:
        """It names nobody in its answers."""
        return ""

    def look_up(self, reference: str, /) -> LookUp:
        """What its books say, or what the test said (`FakeProvider.on_look_up`)."""
        with books.opened(self._books) as page:
            told = script.next_of(page, "look_up", reference)
            if told is None:
                answer = conduct.see(page, reference, promises=self._capabilities)
            else:
                answer = conduct.say(page, reference, word=told.word)
            page.write("asked", reference=reference, said=_said(told, answer))
        _raise_if(told)
        return answer


def _said(told: Told | None, answer: Outcome | LookUp) -> str:
    return "an exception" if told and told.word == "raises" else type(answer).__name__


def _raise_if(told: Told | None) -> None:
    if told and told.word == "raises":
        raise RuntimeError("a test told it to raise")
