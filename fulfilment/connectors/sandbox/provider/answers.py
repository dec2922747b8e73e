"""What the provider answers, as values; the server puts them on the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fulfilment.connectors.sandbox.provider.faults import Fault, Kind
from fulfilment.connectors.sandbox.provider.order import Product
from fulfilment.connectors.sandbox.provider.payment import FAILED, Payment

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


def of(members: Mapping[str, Any] | list[Any], *, status: int = 200) -> Answer:
    """Any JSON object or list."""
    return Answer(status=status, body=json.dumps(members).encode())


def error(status: int, kind: str, message: str) -> Answer:
    """An error with its documented type."""
    return of({"error": {"type": kind, "message": message}}, status=status)


def see_other(path: str) -> Answer:
    """Sends a browser on, so that a reload does not press the button again."""
    return Answer(status=303, body=b"", headers=(("Location", path),))


def unbooked(fault: Fault) -> Answer:
    """An answer that says nothing of what is booked, as this fault asks for it."""
    if fault.kind is Kind.LOSE_REQUEST:
        return RESET
    if fault.kind is Kind.REFUSE:
        return error(503, fault.type, "Nothing was begun. Send the same request again later.")
    if fault.kind is Kind.CACHED_500:
        return error(500, "api_error", "This answer is kept: the same request gets it again.")
    if fault.body is not None:
        body = fault.body.encode(errors="replace")
        return Answer(status=fault.code, body=body, content_type="text/plain")
    return error(fault.code, fault.type, "An answer that a test asked for.")


def payment(booked: Payment, *, url: str, replayed: bool) -> Answer:
    """A payment as the answer to the call that asked for it: a decline is 402, also repeated."""
    fresh = 402 if booked.status == FAILED else 201
    answer = found(booked, url=url)
    if not replayed:
        return replace(answer, status=fresh)
    status = 402 if booked.status == FAILED else 200
    return replace(answer, status=status, headers=(("Idempotent-Replayed", "true"),))


def found(booked: Payment, *, url: str) -> Answer:
    """A payment as the answer to a look-up: always 200, the truth is in `status`."""
    return of(resource(booked, url=url))


def resource(booked: Payment, *, url: str) -> dict[str, Any]:
    """The object of the API; account or telephone number are masked. `url`: where we listen."""
    declined = {"code": "declined", "message": "The recipient's bank declined the payment."}
    members = {
        "id": booked.id,
        "reference": booked.reference,
        "status": booked.status,
        "amount": booked.amount,
        "currency": booked.currency,
        "recipient": booked.recipient,
        "created_at": booked.created_at,
        "failure": declined if booked.status == FAILED else None,
    }
    if booked.kind == Product.CHECKOUT:
        members |= {"url": f"{url}/checkouts/{booked.id}", "metadata": booked.metadata}
        del members["recipient"]
    return members
