"""When a provider that does not answer is left alone, and who tries it again. Pure.

Closed, everybody calls. So many failures in a row open it: nobody calls until its rest is over. Then
one caller tries, and the others go on without, until an answer closes it or a failure opens it anew.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto


class Turn(Enum):
    """What a caller is told."""

    CALL = auto()
    TRY = auto()  # as the one who finds out; a rest begins for the others
    WAIT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """Of one connector. `open_until` stays when its moment has passed: it is half open then."""

    failures: int = 0
    open_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`after` failures in a row it opens, for `rest`."""

    after: int
    rest: timedelta


def turn(seen: Breaker, *, now: datetime) -> Turn:
    """May somebody call at this moment?"""
    if seen.open_until is None:
        return Turn.CALL
    return Turn.WAIT if now < seen.open_until else Turn.TRY


def tried(seen: Breaker, *, now: datetime, rules: Rules) -> Breaker:
    """One caller tries. If it is never heard of again, somebody else does after another rest."""
    return Breaker(failures=seen.failures, open_until=now + rules.rest)


def failed(seen: Breaker, *, now: datetime, rules: Rules) -> Breaker:
    """A call brought no answer."""
    failures = seen.failures + 1
    is_open = failures >= rules.after or seen.open_until is not None
    return Breaker(failures=failures, open_until=now + rules.rest if is_open else None)
