"""What the contract decides, as frozen values. Pure: no Django, no clock, no I/O."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from math import ceil
from typing import Any, TypeAlias
from uuid import UUID

from idempotency.key import reference_of

REPLAYED = "Idempotent-Replayed"  # "true" on replays, absent everywhere else
OMITTED = "Idempotent-Body-Omitted"  # "true" on replays of a body that was too large to keep

# A first request rarely runs longer; a client that asks again after it costs one cheap read.
_SHORTLY = 1
_LATER = 5  # where nobody has said when: staff need longer, and each retry is one cheap read
_AT_MOST = 60


class Status(StrEnum):
    """Where a key stands."""

    IN_PROGRESS = "in_progress"  # -> completed, failed; leased, held or deferred until then
    COMPLETED = "completed"  # a stored success: final
    FAILED = "failed"  # a stored refusal: final, but for the correction failed -> fulfilled


@dataclass(frozen=True, slots=True)
class Answer:
    """A final answer, as it is stored and sent again: nothing in it depends on the request."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def outcome(self) -> Status:
        """The status that a key has with this answer stored."""
        return Status.COMPLETED if self.status < 400 else Status.FAILED

    @property
    def invites_new_key(self) -> bool:
        """True if it tells the client that a new key is safe: such an answer may be corrected."""
        kinds = [value for name, value in self.headers if name.lower() == "content-type"]
        if self.status < 400 or not any(
            kind.startswith("application/problem+json") for kind in kinds
        ):
            return False
        try:
            return json.loads(self.body).get("safe_new_key") is True
        except (ValueError, AttributeError):
            return False


@dataclass(frozen=True, slots=True)
class Record:
    """The row of one key, as it was read."""

    scope: UUID
    key: str
    fingerprint: str
    status: Status
    operation: str
    created_at: datetime
    answer: Answer | None = None  # set if and only if the status is final
    locked_until: datetime | None = None
    sent_at: datetime | None = None  # set: the other system may have heard of it
    held_at: datetime | None = None
    hold_reason: str = ""
    next_check_at: datetime | None = None

    @property
    def reference(self) -> str:
        """The stable public name of what this key asked for."""
        return reference_of(self.scope, self.key)


@dataclass(frozen=True, slots=True)
class Progress:
    """How a view describes its open operation in the 409 of a deferred key."""

    members: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: int = _SHORTLY  # seconds


@dataclass(frozen=True, slots=True)
class Replay:
    """The key is finished: send its answer again. `age` is the time since the key was claimed."""

    answer: Answer
    age: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Reused:
    """The key belongs to another request: 422."""


@dataclass(frozen=True, slots=True)
class InProgress:
    """The first request is still running: 409, ask again after so many seconds."""

    retry_after: int = _SHORTLY


@dataclass(frozen=True, slots=True)
class Deferred:
    """The outcome is open and will be brought by somebody else: 409 with the view's description."""

    record: Record


@dataclass(frozen=True, slots=True)
class Held:
    """Nobody knows whether it happened; the row is listed for staff: 202 `outcome_unknown`.

    Without a record the row could not even be marked as held: its lease will run out instead.
    """

    record: Record | None
    retry_after: int = _LATER


@dataclass(frozen=True, slots=True)
class Expired:
    """The lease of the first request is over: the row may be taken over in leased mode."""

    record: Record


Decision: TypeAlias = Replay | Reused | InProgress | Deferred | Held | Expired


def decide(record: Record | None, *, fingerprint: str, now: datetime) -> Decision:
    """What a request gets whose claim did not succeed. `now` is the database's clock.

    Without a row the first request is still invisible, and nothing can be said about its body.
    The fingerprint comes first: another request may neither replay, wait for, nor take over a key.
    """
    if record is None:
        return InProgress()
    if record.fingerprint != fingerprint:
        return Reused()
    if record.answer is not None:
        return Replay(record.answer, now - record.created_at)
    return _open(record, now)


def _open(record: Record, now: datetime) -> Decision:
    if record.held_at is not None:
        return Held(record, _wait(record.next_check_at, now))
    if record.locked_until is None:
        return Deferred(record)
    left = ceil((record.locked_until - now).total_seconds())
    return InProgress(min(left, _AT_MOST)) if left > 0 else Expired(record)


def _wait(next_check_at: datetime | None, now: datetime) -> int:
    """Seconds until somebody will have asked again; before that no retry can learn anything."""
    if next_check_at is None:
        return _LATER
    return max(_SHORTLY, min(ceil((next_check_at - now).total_seconds()), _AT_MOST))


class Exit(Enum):
    """How a claim ends, judged by what the handler did."""

    SETTLE = "settle"  # its writes stay, its answer is stored
    REFUSE = "refuse"  # its writes are undone, its answer is stored
    ROLL_BACK = "roll back"  # nothing happened, nothing is stored


_NOT_DECIDED = frozenset({409, 425, 429})  # "not now", said by the domain


def exit_of(status: int, *, raised: bool, input_refused: bool = False) -> Exit:
    """The exit for an answer with `status` that was returned, or rendered from an exception.

    Stored is what the handler decided. Not decided: input it could not read (`input_refused`),
    the domain's own "not now", every 5xx, and a success made from an exception: its writes are gone.
    """
    if input_refused or status in _NOT_DECIDED or status >= 500:
        return Exit.ROLL_BACK
    if not raised:
        return Exit.SETTLE
    return Exit.REFUSE if status >= 400 else Exit.ROLL_BACK
