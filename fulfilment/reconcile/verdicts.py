"""The verdicts of the policy: frozen values that `resolve` applies. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias


class Pace(StrEnum):
    """How soon a row that goes back to `pending` is tried again."""

    NOW = "now"
    BACK_OFF = "back_off"  # refused: doubling, until the other side takes it
    SCHEDULE = "schedule"  # sent before and sent again under the same reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverse:
    """It happened and was given back later: a new posting, the first one stays."""

    reason: str
    fact: int  # the evidence that settles it


@dataclass(frozen=True, slots=True, kw_only=True)
class Fulfil:
    """It happened; `then` it was given back, if that is known already."""

    reason: str
    fact: int
    then: Reverse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """It did not happen and nothing is under way that could still make it happen."""

    reason: str
    fact: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeue:
    """Nothing happened yet, and sending the same reference cannot make it happen twice.

    With a `case` (a `CaseReason`) a person is asked as well.
    """

    reason: str
    pace: Pace
    case: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nobody knows. Go on asking; `until` is when the clock alone changes the picture."""

    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCase:
    """Nobody knows, and a person is asked. The checks go on. `case` is a `CaseReason`."""

    reason: str
    case: str
    until: datetime | None = None  # when the clock alone changes the picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """What was said contradicts itself, or us, or the verdict that stands: only a person decides."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A report contradicts the verdict that stands: what counts is what the provider says if asked."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The verdict that was given stands; `overruled` are the facts that the provider took back."""

    reason: str
    overruled: frozenset[int] = frozenset()


Verdict: TypeAlias = Fulfil | Reverse | Fail | Requeue | Wait | OpenCase | Conflict | Ask | Stand

# What a person may say instead of “failed”: not done, and sent again under a new reference.
AGAIN = "send_again"
