"""The ways in which the provider can misbehave, and how they are asked for. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fulfilment.connectors.sandbox.provider.order import InvalidRequest


class Kind(StrEnum):
    """The faults by name, and whether the payment is booked."""

    # One of these decides how the call goes.
    OK = "ok"  # booked; shields what it matches from later rules about calls
    OK_AFTER = "ok_after"  # booked only after `seconds`: first not found, then found
    DECLINE = "decline"  # booked as failed, 402: final
    HANG = "hang"  # booked at once, answered after `seconds`
    ACCEPT_THEN_RESET = "accept_then_reset"  # booked, then the connection is reset
    WEBHOOK_FIRST = "webhook_first"  # booked, answered after the event's 2xx; reset after `seconds`
    LOSE_REQUEST = "lose_request"  # not booked, and the connection is reset
    REFUSE = "refuse"  # not booked, 503 with a documented type: nothing was begun
    STATUS = "status"  # any answer at all; booked only if `books` says so
    CACHED_500 = "cached_500"  # 500, and again for every repetition; booked only if `books` says so
    # Any of these can come on top: they are about what is booked, and its events.
    WRONG_AMOUNT = "wrong_amount"  # one minor unit too much is booked, answered and reported
    REVERSED_LATER = "reversed_later"  # a transfer comes back after `seconds`
    DUPLICATE = "duplicate"  # two events with two ids, each delivered twice at once
    NO_WEBHOOK = "no_webhook"  # nothing is reported
    # This one is about look-ups.
    LOOKUP_OUTAGE = "lookup_outage"  # look-ups answer 503


TRAITS = (Kind.WRONG_AMOUNT, Kind.REVERSED_LATER, Kind.DUPLICATE, Kind.NO_WEBHOOK)
CALLS = frozenset(Kind) - {*TRAITS, Kind.LOOKUP_OUTAGE}
REFUSALS = ("rate_limited", "insufficient_float")
_UNBOOKED = frozenset({Kind.LOSE_REQUEST, Kind.REFUSE})
_BOOKED_IF_ASKED = frozenset({Kind.STATUS, Kind.CACHED_500})
_IN_NARRATION = re.compile(r"sandbox:([a-z][a-z0-9_]*)(?:\((\d{1,4}(?:\.\d{1,3})?)\))?")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """All that befalls one payment: how its call goes, and the traits of what is booked."""

    fault: Fault = Fault()
    traits: tuple[Fault, ...] = ()

    def trait(self, kind: Kind) -> Fault | None:
        """The trait of this kind, if it has it."""
        return next((trait for trait in self.traits if trait.kind is kind), None)


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
        books=_books(kind, asked=members.get("books") is True),
    )


def in_narration(narration: str) -> Iterator[tuple[Fault, int | None]]:
    """The faults a payment asks for itself, each with how many first calls it meets (None: all).

    `sandbox:hang(2)` takes seconds, `sandbox:status(502)` a code, `sandbox:refuse(3)` and
    `sandbox:lose_request(1)` a number of calls, and `sandbox:cached_500(1)` books what
    `sandbox:cached_500` does not. Text that only looks like one of them is ignored.
    """
    for name, number in _IN_NARRATION.findall(narration):
        if name in list(Kind):
            yield _asked_for(Kind(name), float(number) if number else None)


def _asked_for(kind: Kind, number: float | None) -> tuple[Fault, int | None]:
    if kind in _UNBOOKED:
        times = 1 if number is None else int(number)
        return Fault(kind=kind, type=_type(None, kind), books=False), times
    if kind is Kind.STATUS:
        code = int(number or 0)
        return Fault(kind=kind, code=code if _can_answer(code) else 500, books=False), None
    seconds = _DEFAULT_SECONDS if number is None else number
    return Fault(kind=kind, seconds=seconds, books=_books(kind, asked=bool(number))), None


def _books(kind: Kind, *, asked: bool) -> bool:
    return asked if kind in _BOOKED_IF_ASKED else kind not in _UNBOOKED


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
