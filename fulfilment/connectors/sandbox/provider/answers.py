"""What the provider answers, as values; the server puts them on the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fulfilment.connectors.sandbox.provider.books import FAILED, Payment

_JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer; `after` seconds pass before it is sent, and `reset` sends an RST in its place."""

    status: int
    body: bytes
    content_type: str = _JSON
    headers: tuple[tuple[str, str], ...] = ()
    after: float = 0.0
    reset: bool = False

    @property
    def summary(self) -> str:
        """The answer in the log of calls."""
        if self.reset:
            return "connection reset"
        return f"{self.status} after {self.after:g} s" if self.after else str(self.status)

    def later(self, seconds: float) -> "Answer":
        """The same answer, delayed further."""
        return replace(self, after=self.after + seconds)


RESET = Answer(status=0, body=b"", reset=True)


def of(members: Mapping[str, Any], *, status: int = 200) -> Answer:
    """Any JSON object."""
    return Answer(status=status, body=json.dumps(members).encode())


def error(status: int, kind: str, message: str) -> Answer:
    """An error with its documented type."""
    return of({"error": {"type": kind, "message": message}}, status=status)


def payment(booked: Payment, *, replayed: bool) -> Answer:
    """A payment as the answer to the call that asked for it: a decline is 402, also repeated."""
    fresh = 402 if booked.status == FAILED else 201
    answer = found(booked)
    if not replayed:
        return replace(answer, status=fresh)
    status = 402 if booked.status == FAILED else 200
    return replace(answer, status=status, headers=(("Idempotent-Replayed", "true"),))


def found(booked: Payment) -> Answer:
    """A payment as the answer to a look-up: always 200, the truth is in `status`."""
    return of(resource(booked))


def resource(booked: Payment) -> dict[str, Any]:
    """The payment object of the API; the account is masked."""
    declined = {"code": "declined", "message": "The recipient's bank declined the payment."}
    return {
        "id": booked.id,
        "reference": booked.reference,
        "status": booked.status,
        "amount": booked.amount,
        "currency": booked.currency,
        "recipient": {"bank": booked.bank, "account": booked.account},
        "created_at": booked.created_at,
        "failure": declined if booked.status == FAILED else None,
    }
