"""From what was answered to what it says. Pure: no Django, no clock, no I/O."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from fulfilment.connectors.base import (
    Accepted,
    Declined,
    Done,
    LookUp,
    NoInformation,
    NotFound,
    NotSent,
    Outcome,
    Refused,
    Reversed,
    Unknown,
)


class Source(StrEnum):
    """Who said it: the same words as `models.Source`."""

    RESPONSE = "response"
    LOOKUP = "lookup"
    WEBHOOK = "webhook"
    STATEMENT = "statement"
    PERSON = "person"
    SWEEP = "sweep"


class Finding(StrEnum):
    """What was said: the same words as `models.Finding`."""

    DONE = "done"
    NOT_DONE = "not_done"
    REVERSED = "reversed"
    ACCEPTED = "accepted"
    NOT_SENT = "not_sent"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    NOT_FOUND = "not_found"
    NO_INFORMATION = "no_information"


# What says that the effect took place, whatever became of it afterwards.
HAPPENED = frozenset({Finding.DONE, Finding.REVERSED})

# What settles a fulfilment when a provider says it. Whether it *may* settle is the policy's.
CONCLUSIVE = frozenset({Finding.DONE, Finding.NOT_DONE, Finding.REVERSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One answer in our words, with what has to be kept of it."""

    finding: Finding
    amount: int | None = None
    currency: str = ""
    recipient: str = ""
    provider_status: str = ""
    provider_id: str = ""
    detail: str = ""
    body: bytes = b""

    @property
    def conclusive(self) -> bool:
        """Can it settle the fulfilment at all?"""
        return self.finding in CONCLUSIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One piece of recorded evidence, as the policy reads it."""

    id: int
    source: Source
    finding: Finding
    recorded_at: datetime
    conclusive: bool = False
    canary: bool = False  # a known reference was found in the same run
    amount: int | None = None
    currency: str = ""
    other_recipient: bool = False  # it names somebody else than we did
    provider_id: str = ""
    attempt: int | None = None  # its number
    asked_at: datetime | None = None  # of an answer to a question: the moment before it was put

    @property
    def as_of(self) -> datetime:
        """The earliest moment of which it speaks: who answered may have been kept from saying so."""
        return self.asked_at or self.recorded_at


_FINDING = {
    Refused: Finding.REFUSED,
    Unknown: Finding.UNKNOWN,
    NoInformation: Finding.NO_INFORMATION,
}


def statement_of(answer: Outcome | LookUp) -> Statement:
    """Say what an answer to a call or a question states."""
    match answer:
        case Done() | Reversed():
            return Statement(
                finding=Finding.DONE if isinstance(answer, Done) else Finding.REVERSED,
                amount=answer.amount,
                currency=answer.currency,
                recipient=answer.recipient,
                provider_status=answer.status,
                provider_id=answer.provider_id,
                body=answer.body,
            )
        case Declined(reason=reason, status=status, body=body):
            return Statement(
                finding=Finding.NOT_DONE, detail=reason, provider_status=status, body=body
            )
        case Accepted(status=status, body=body):
            return Statement(finding=Finding.ACCEPTED, provider_status=status, body=body)
        case NotSent(reason=reason):
            return Statement(finding=Finding.NOT_SENT, detail=reason)
        case NotFound(body=body):
            return Statement(finding=Finding.NOT_FOUND, body=body)
        case Refused() | Unknown() | NoInformation():
            return Statement(finding=_FINDING[type(answer)], detail=answer.reason, body=answer.body)
        case _:
            assert_never(answer)
