"""Reads the provider's answers and finds the row that says what each means. Pure.

A row is (HTTP status, the body's own word: an object's `status` or an error's `type`). Both must
fit: a proxy's 401 or 404 has the status and not the word. What has no row is odd.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from fulfilment.connectors.base import Declined, NotFound, Refused, Unknown
from fulfilment.connectors.http import Reply

T = TypeVar("T")
Members: TypeAlias = Mapping[str, Any]
Table: TypeAlias = Mapping[tuple[int, str], Callable[[Reply, Members], T]]
_MAX_AMOUNT = 2**63 - 1  # what our own books can hold


class Odd(Exception):
    """The answer is not what the provider's documentation shows. The message says how.

    Never quotes the body: it is kept beside the reason and may name accounts.
    """


def meaning(reply: Reply, table: Table[T], *, reference: str) -> T:
    """What the row of this answer makes of it. Raises `Odd`, also where there is no row."""
    try:
        members, word = _read(reply, reference=reference)
        return table.get((reply.status, word), _no_row)(reply, members)
    except Odd as error:
        raise Odd(f"HTTP {reply.status}: {error}") from None


def declined(reply: Reply, booked: Members) -> Declined:
    """It was booked as failed, for ever."""
    failure = booked.get("failure")
    code = failure.get("code") if isinstance(failure, dict) else None
    reason = code if isinstance(code, str) and code.isprintable() else "no reason given"
    return Declined(reason=f"declined: {reason[:100]}", status=booked["status"], body=reply.body)


def not_found(reply: Reply, _: Members) -> NotFound:
    """Nothing has this reference."""
    return NotFound(body=reply.body)


def exists(reply: Reply, _: Members) -> Unknown:
    """Something else has this reference: a look-up says what it is."""
    return Unknown(reason="the provider knows the reference with other content", body=reply.body)


def _no_row(_: Reply, __: Members) -> NoReturn:
    raise Odd("this answer has no documented meaning")


def _refused(reply: Reply, error: Members) -> Refused:
    return Refused(reason=f"nothing was begun: {error['type']}", body=reply.body)


# Documented as "nothing was begun". A request the provider cannot read is our bug: it goes to a
# person by age, and no customer is told that the payment failed.
REFUSALS: Final[Table[Refused]] = {
    (400, "invalid_request"): _refused,
    (401, "authentication_error"): _refused,
    # The only 5xx with a meaning; a bare 503 comes from anywhere and is unknown.
    (503, "rate_limited"): _refused,
    (503, "insufficient_float"): _refused,
}


def text(members: Members, name: str, longest: int) -> str:
    """A text that is there and that a database can hold. Raises `Odd`."""
    value = members.get(name)
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= longest:
        raise Odd(f"{name} is missing or odd")
    return value


def amount(members: Members) -> int:
    """The amount in minor units. Raises `Odd`."""
    value = members.get("amount")
    if type(value) is not int or not 0 < value <= _MAX_AMOUNT:  # bool is an int, too
        raise Odd("amount is missing or odd")
    return value


def _read(reply: Reply, *, reference: str) -> tuple[Members, str]:
    """The object or the error in the body, and its word."""
    members = reply.json()
    if not isinstance(members, dict):
        raise Odd("the body is not a JSON object")
    error = members.get("error")
    if isinstance(error, dict):
        return error, text(error, "type", 64)
    if members.get("reference") != reference:
        raise Odd("it is about another reference")
    return members, text(members, "status", 64)
