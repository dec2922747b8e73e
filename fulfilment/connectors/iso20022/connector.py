"""Pays from an account at a bank, one pain.001 for each payment, and asks the bank about it."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fulfilment.connectors import http
from fulfilment.connectors.base import (
    Capabilities,
    Dedupe,
    Instruction,
    LookUp,
    NoInformation,
    NotSent,
    Outcome,
)
from fulfilment.connectors.iso20022 import letters, mapping, pain001
from fulfilment.connectors.iso20022.bank import Bank
from fulfilment.connectors.iso20022.letters import Letter
from fulfilment.webhooks.event import Event

# What banks promise differs: ask yours, and name it in the settings. These are cautious.
VISIBLE_AFTER: Final = timedelta(minutes=2)
NOT_FOUND_FINAL_AFTER: Final = timedelta(hours=1)
DEDUPE_WINDOW: Final = timedelta(days=30)  # in which a MsgId that was used is refused
LATE_REVERSAL_HORIZON: Final = timedelta(days=30)  # returns come within days, recalls later

_IBAN: Final = re.compile(r"[A-Z]{2}[0-9]{2}[0-9A-Z]{10,30}")
_BIC: Final = re.compile(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?")


class Iso20022Connector:
    """Settings: URL, USER, PASSWORD; DEBTOR with `name`, `iban` and `bic` of the account that pays;
    and, all with a default, VISIBLE_AFTER, NOT_FOUND_FINAL_AFTER, DEDUPE_WINDOW,
    LATE_REVERSAL_HORIZON and LOOK_UP_DEADLINE (timedeltas), and PATHS (`bank.PATHS`).

    Instructions name `account` (an IBAN) and may have `name`, `bic` and `narration`. The bank sends
    no events: its messages are fetched (`mailbox`) and are evidence as a statement.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Raises ValueError, without showing the password, where the settings cannot be used."""
        self._bank = Bank(settings)
        self._debtor = _debtor(settings.get("DEBTOR") or {})
        self.mailbox = Mailbox(self._bank, iban=self._debtor.iban)
        self._capabilities = _capabilities(settings)

    @property
    def capabilities(self) -> Capabilities:
        """What the bank promises."""
        return self._capabilities

    def send(self, instruction: Instruction, /) -> Outcome:
        """Hands in the file once. What the bank takes is accepted, and done when it is booked."""
        try:
            file = pain001.written(instruction, debtor=self._debtor, at=datetime.now(UTC))
        except KeyError as error:
            return NotSent(reason=f"the instruction names no {error.args[0]}")
        reply = self._bank.post(file, deadline=instruction.deadline)
        if not isinstance(reply, http.Reply):
            return reply
        return mapping.sent(reply, reference=instruction.reference)

    def recipient(self, instruction: Mapping[str, Any], /) -> str:
        """The IBAN, whole, as the bank names it."""
        return pain001.account(instruction) if "account" in instruction else ""

    def look_up(self, reference: str, /) -> LookUp:
        """Asks for the payment with our end-to-end id; begins nothing."""
        reply = self._bank.status(reference)
        if not isinstance(reply, http.Reply):
            return NoInformation(reason=reply.reason)
        return mapping.looked_up(reply, reference=reference)


class Mailbox:
    """The attribute `mailbox` of the connector (see `fulfilment.webhooks.mailbox`)."""

    def __init__(self, bank: Bank, *, iban: str) -> None:
        self._bank, self._iban = bank, iban

    def letters(self) -> Sequence[Letter] | NoInformation:
        """The messages that wait, oldest first; they are left where they are."""
        return self._bank.letters()

    def events(self, letter: Letter) -> Sequence[bytes]:
        """The bodies of its events, named `<letter.name>/<number from 0>`; at least one."""
        return letters.events_of(letter, iban=self._iban)

    def read(self, raw_body: bytes) -> Event:
        """The event in such a body. Raises `EventMalformed`."""
        return letters.read(raw_body)


def _debtor(given: Mapping[str, Any]) -> pain001.Debtor:
    name, iban, bic = (str(given.get(key, "")).strip() for key in ("name", "iban", "bic"))
    iban = iban.replace(" ", "")
    if not name or not _IBAN.fullmatch(iban) or not _BIC.fullmatch(bic):
        raise ValueError("the iso20022 connector's DEBTOR must have a name, an iban and a bic")
    return pain001.Debtor(name=name, iban=iban, bic=bic)


def _capabilities(settings: Mapping[str, Any]) -> Capabilities:
    return Capabilities(
        dedupe=Dedupe.KEY_WINDOW,
        dedupe_window=settings.get("DEDUPE_WINDOW", DEDUPE_WINDOW),
        lookup_by_reference=True,
        visible_after=settings.get("VISIBLE_AFTER", VISIBLE_AFTER),
        not_found_final_after=settings.get("NOT_FOUND_FINAL_AFTER", NOT_FOUND_FINAL_AFTER),
        late_reversal_horizon=settings.get("LATE_REVERSAL_HORIZON", LATE_REVERSAL_HORIZON),
    )
