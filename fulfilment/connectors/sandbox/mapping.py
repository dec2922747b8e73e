"""What each answer of the sandbox provider means. Pure.

A row is (HTTP status, the body's own word: a payment's `status` or an error's `type`). Both must
fit: a proxy's 401 or 404 has the status and not the word. What has no row is unknown.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fulfilment.connectors.base import (
    Declined,
    Done,
    LookUp,
    NoInformation,
    NotFound,
    Outcome,
    Refused,
    Reversed,
    Unknown,
)
from fulfilment.connectors.http import Reply

_Members: TypeAlias = Mapping[str, Any]
_MAX_AMOUNT = 2**63 - 1  # what our own books can hold


class _Odd(Exception):
    """The answer is not what the provider's documentation shows. The message says how."""


def sent(reply: Reply, *, reference: str) -> Outcome:
    """The outcome of a send; anything unexpected is `Unknown`."""
    try:
        members, word = _read(reply, reference=reference)
        return _SENT[reply.status, word](reply, members)
    except (KeyError, _Odd) as error:
        return Unknown(reason=_unexpected(reply, error), body=reply.body)


def looked_up(reply: Reply, *, reference: str) -> LookUp:
    """What a look-up said; anything unexpected is `NoInformation`."""
    try:
        members, word = _read(reply, reference=reference)
        return _LOOKED_UP[reply.status, word](reply, members)
    except (KeyError, _Odd) as error:
        return NoInformation(reason=_unexpected(reply, error), body=reply.body)


def _done(reply: Reply, payment: _Members) -> Done:
    return Done(**_booked(reply, payment))


def _reversed(reply: Reply, payment: _Members) -> Reversed:
    return Reversed(**_booked(reply, payment))


def _booked(reply: Reply, payment: _Members) -> dict[str, Any]:
    recipient = payment.get("recipient")
    if not isinstance(recipient, dict):
        raise _Odd("the recipient is missing")
    bank, account = _text(recipient, "bank", 16), _text(recipient, "account", 34)
    return {
        "amount": _amount(payment),
        "currency": _text(payment, "currency", 3),
        "provider_id": _text(payment, "id", 128),
        "status": payment["status"],
        "body": reply.body,
        "recipient": f"{bank} {account}",
    }


def _declined(reply: Reply, payment: _Members) -> Declined:
    failure = payment.get("failure")
    code = failure.get("code") if isinstance(failure, dict) else None
    reason = code if isinstance(code, str) and code.isprintable() else "no reason given"
    return Declined(reason=f"declined: {reason[:100]}", status=payment["status"], body=reply.body)


def _refused(reply: Reply, error: _Members) -> Refused:
    return Refused(reason=f"nothing was begun: {error['type']}", body=reply.body)


def _exists(reply: Reply, _: _Members) -> Unknown:
    return Unknown(reason="the provider knows the reference with other content", body=reply.body)


def _not_found(reply: Reply, _: _Members) -> NotFound:
    return NotFound(body=reply.body)


_SENT: Mapping[tuple[int, str], Callable[[Reply, _Members], Outcome]] = {
    (201, "succeeded"): _done,
    (200, "succeeded"): _done,  # booked by an earlier attempt, replayed: the same payment
    (200, "reversed"): _reversed,  # booked by an earlier attempt, and given back since
    (402, "failed"): _declined,  # 4xx, but the payment is booked as failed, so it is final
    # Documented as "nothing was begun". A request the provider cannot read is our bug: it goes to
    # a person by age, and no customer is told that the payment failed.
    (400, "invalid_request"): _refused,
    (401, "authentication_error"): _refused,
    # The only 5xx with a meaning; a bare 503 comes from anywhere and is unknown.
    (503, "rate_limited"): _refused,
    (503, "insufficient_float"): _refused,
    (409, "reference_conflict"): _exists,  # it exists: the look-up says what it is
}

_LOOKED_UP: Mapping[tuple[int, str], Callable[[Reply, _Members], LookUp]] = {
    (200, "succeeded"): _done,
    (200, "reversed"): _reversed,
    (200, "failed"): _declined,
    # With the word only: a wrong address answers 404 as well (`no_such_endpoint`).
    (404, "not_found"): _not_found,
}


def _read(reply: Reply, *, reference: str) -> tuple[_Members, str]:
    """The payment or the error in the body, and its word. Raises `_Odd`."""
    members = reply.json()
    if not isinstance(members, dict):
        raise _Odd("the body is not a JSON object")
    error = members.get("error")
    if isinstance(error, dict):
        return error, _text(error, "type", 64)
    if members.get("reference") != reference:
        raise _Odd("it is about another reference")
    return members, _text(members, "status", 64)


def _text(members: _Members, name: str, longest: int) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= longest:
        raise _Odd(f"{name} is missing or odd")
    return value


def _amount(payment: _Members) -> int:
    amount = payment.get("amount")
    if type(amount) is not int or not 0 < amount <= _MAX_AMOUNT:  # bool is an int, too
        raise _Odd("amount is missing or odd")
    return amount


def _unexpected(reply: Reply, error: KeyError | _Odd) -> str:
    """Never quotes the body: it is kept beside the reason and may name accounts."""
    how = str(error) if isinstance(error, _Odd) else "this answer has no documented meaning"
    return f"HTTP {reply.status}: {how}"
