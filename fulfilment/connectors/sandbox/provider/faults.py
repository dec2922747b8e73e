"""The ways in which the provider can misbehave, and how they are asked for. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fulfilment.connectors.sandbox.provider.order import InvalidRequest


class Kind(StrEnum):
    """The faults by name, and whether the payment is booked."""

    OK = "ok"  # booked; shields what it matches from later rules
    OK_AFTER = "ok_after"  # booked only after `seconds`: first not found, then found
    DECLINE = "decline"  # booked as failed, 402: final
    HANG = "hang"  # booked at once, answered after `seconds`
    ACCEPT_THEN_RESET = "accept_then_reset"  # booked, then the connection is reset
    LOSE_REQUEST = "lose_request"  # not booked, and the connection is reset
    REFUSE = "refuse"  # not booked, 503 with a documented type: nothing was begun
    STATUS = "status"  # any answer at all; booked only if `books` says so
    LOOKUP_OUTAGE = "lookup_outage"  # look-ups answer 503


BOOKED = frozenset({Kind.OK, Kind.OK_AFTER, Kind.DECLINE, Kind.HANG, Kind.ACCEPT_THEN_RESET})
REFUSALS = ("rate_limited", "insufficient_float")
_FIRST_CALLS_ONLY = frozenset({Kind.REFUSE, Kind.LOSE_REQUEST})
_IN_NARRATION = re.compile(r"sandbox:([a-z_]+)(?:\((\d{1,4}(?:\.\d{1,3})?)\))?")
_DEFAULT_SECONDS = 30.0  # outlasts any sensible deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way to misbehave; which members count depends on `kind`."""

    kind: Kind = Kind.OK
    seconds: float = 0.0
    code: int = 500
    type: str = "api_error"
    body: str | None = None
    books: bool = True


def read(members: Mapping[str, Any]) -> Fault:
    """The fault described by the JSON of `POST /faults`. Raises `InvalidRequest`."""
    kind = _kind(members.get("fault"))
    body = members.get("body")
    return Fault(
        kind=kind,
        seconds=_seconds(members.get("seconds", _DEFAULT_SECONDS)),
        code=_code(members.get("code", 500)),
        type=_type(members.get("type"), kind),
        body=None if body is None else str(body),
        books=kind in BOOKED or (kind is Kind.STATUS and members.get("books") is True),
    )


def in_narration(narration: str) -> Iterator[tuple[Fault, int | None]]:
    """The faults a payment asks for itself, each with how many first calls it meets (None: all).

    `sandbox:hang(2)` takes seconds, `sandbox:status(502)` a code, `sandbox:refuse(3)` and
    `sandbox:lose_request(1)` a number of calls. Text that only looks like one of them is ignored.
    """
    for name, number in _IN_NARRATION.findall(narration):
        if name in list(Kind):
            yield _asked_for(Kind(name), float(number) if number else None)


def _asked_for(kind: Kind, number: float | None) -> tuple[Fault, int | None]:
    if kind in _FIRST_CALLS_ONLY:
        times = 1 if number is None else int(number)
        return Fault(kind=kind, type=_type(None, kind), books=False), times
    if kind is Kind.STATUS:
        code = int(number or 0)
        return Fault(kind=kind, code=code if _can_answer(code) else 500, books=False), None
    seconds = _DEFAULT_SECONDS if number is None else number
    return Fault(kind=kind, seconds=seconds, books=kind in BOOKED), None


def _kind(name: object) -> Kind:
    if name not in list(Kind):
        raise InvalidRequest(f"fault must be one of {', '.join(Kind)}")
    return Kind(str(name))


def _type(name: object, kind: Kind) -> str:
    if kind is not Kind.REFUSE:
        return str(name or "api_error")
    if name is not None and name not in REFUSALS:
        raise InvalidRequest(f"type of a refusal must be one of {', '.join(REFUSALS)}")
    return str(name or REFUSALS[0])


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 3600:
        raise InvalidRequest("seconds must be a number from 0 to 3600")
    return float(value)


def _code(value: object) -> int:
    if not isinstance(value, int) or not _can_answer(value):
        raise InvalidRequest("code must be an HTTP status from 200 to 599 that has a body")
    return value


def _can_answer(code: int) -> bool:
    return 200 <= code <= 599 and code not in {204, 205, 304}
