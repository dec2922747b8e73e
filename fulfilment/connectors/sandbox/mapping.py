"""What each answer of the sandbox provider about a transfer or airtime means. Pure."""

from typing import Any, Final

from fulfilment.connectors.base import Done, LookUp, NoInformation, Outcome, Reversed, Unknown
from fulfilment.connectors.http import Reply
from fulfilment.connectors.sandbox.reading import (
    REFUSALS,
    Members,
    Odd,
    Table,
    amount,
    declined,
    exists,
    meaning,
    not_found,
    text,
)


def sent(reply: Reply, *, reference: str) -> Outcome:
    """The outcome of a send; anything unexpected is `Unknown`."""
    try:
        return meaning(reply, _SENT, reference=reference)
    except Odd as error:
        return Unknown(reason=str(error), body=reply.body)


def looked_up(reply: Reply, *, reference: str) -> LookUp:
    """What a look-up said; anything unexpected is `NoInformation`."""
    try:
        return meaning(reply, _LOOKED_UP, reference=reference)
    except Odd as error:
        return NoInformation(reason=str(error), body=reply.body)


def masked(number: str) -> str:
    """A number as its answers show it: the last four characters, where there are more."""
    shown = number[-4:] if len(number) > 4 else ""
    return shown.rjust(len(number), "*")


def _done(reply: Reply, booked: Members) -> Done:
    return Done(**_booked(reply, booked))


def _reversed(reply: Reply, booked: Members) -> Reversed:
    return Reversed(**_booked(reply, booked))


def _booked(reply: Reply, booked: Members) -> dict[str, Any]:
    return {
        "amount": amount(booked),
        "currency": text(booked, "currency", 3),
        "provider_id": text(booked, "id", 128),
        "status": booked["status"],
        "body": reply.body,
        "recipient": _recipient(booked),
    }


def _recipient(booked: Members) -> str:
    recipient = booked.get("recipient")
    if not isinstance(recipient, dict):
        raise Odd("the recipient is missing")
    if "phone" in recipient:
        return text(recipient, "phone", 34)
    return f"{text(recipient, 'bank', 16)} {text(recipient, 'account', 34)}"


_SENT: Final[Table[Outcome]] = {
    (201, "succeeded"): _done,
    (200, "succeeded"): _done,  # booked by an earlier attempt, replayed: the same payment
    (200, "reversed"): _reversed,  # booked by an earlier attempt, and given back since
    (402, "failed"): declined,  # 4xx, but the payment is booked as failed, so it is final
    **REFUSALS,
    (409, "reference_conflict"): exists,
}
_LOOKED_UP: Final[Table[LookUp]] = {
    (200, "succeeded"): _done,
    (200, "reversed"): _reversed,
    (200, "failed"): declined,
    # With the word only: a wrong address answers 404 as well (`no_such_endpoint`).
    (404, "not_found"): not_found,
}
