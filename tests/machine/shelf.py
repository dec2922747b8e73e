"""The row of one key, and the statements of `store` and `leases` on it as pure functions.

Each method is the compare-and-set of the statement that its comment names: the same condition, the
same columns. Time stands still but for `wait`. `test_on_postgresql` drives both at once and compares.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from idempotency.contract import Answer, Record, Status

SCOPE, KEY, OPERATION = UUID(int=0xADA), "k", "machine"
LEASE, CALL, RECHECK, RETENTION = (timedelta(minutes=m) for m in (25, 8, 15, 30 * 24 * 60))
NOBODY = -1  # the token of an owner that is told to stop


@dataclass(frozen=True)
class Row:
    record: Record
    token: int | None
    cleared_at: datetime | None = None
    completed_at: datetime | None = None


class Shelf:
    """One key of the table."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.row: Row | None = None

    def look(self) -> tuple[Record, datetime] | None:  # READ
        return None if self.row is None else (self.row.record, self.now)

    def claim(self, owner: int, *, fingerprint: str) -> bool:  # CLAIM
        if self.row is not None:
            return False
        record = Record(
            SCOPE, KEY, fingerprint, Status.IN_PROGRESS, OPERATION,
            created_at=self.now, locked_until=self.now + LEASE,
        )  # fmt: skip
        self.row = Row(record, owner)
        return True

    def mark(self, owner: int) -> bool:  # MARK
        row, until = self._own(owner), self.row and self.row.record.locked_until
        if row is None or until is None or self.now + CALL > until:
            return False
        self._write(sent_at=row.record.sent_at or self.now)
        return True

    def settle(self, owner: int, answer: Answer) -> bool:  # SETTLE_LEASED
        return self._own(owner) is not None and self._finish(answer)

    def settle_held(self, answer: Answer) -> bool:  # SETTLE_HELD
        held = self.row is not None and self.row.record.held_at is not None
        return held and self._finish(answer)

    def release(self, owner: int) -> bool:  # RELEASE
        row = self._own(owner)
        if row is None:
            return False
        if row.cleared_at is None:
            self.row = None
        else:
            self._write(locked_until=self.now, sent_at=None)
        return True

    def hold(self, owner: int) -> bool:  # HOLD
        row = self._own(owner)
        if row is None:
            return False
        self._write(
            held_at=row.record.held_at or self.now, hold_reason="unknown",
            locked_until=None, next_check_at=self.now + RECHECK,
        )  # fmt: skip
        return True

    def restart(self, owner: int, *, lease: timedelta) -> bool:  # RESTART
        if self._own(owner) is None:
            return False
        self._clear(self.now + lease)
        return True

    def free(self) -> bool:  # FREE
        if self.row is None or self.row.record.held_at is None:
            return False
        self._clear(self.now)
        self.row = replace(self.row, token=NOBODY)
        return True

    def take_over(self, owner: int, *, fingerprint: str) -> Record | None:  # TAKE_OVER
        mine = self.row is not None and self.row.record.fingerprint == fingerprint
        return self._take(owner) if mine and self._due else None

    def take_due(self, owner: int) -> Record | None:  # TAKE_DUE
        record = self.row and self.row.record
        doubtful = record is not None and (record.held_at or record.sent_at)
        return self._take(owner) if doubtful and self._due else None

    def forget_abandoned(self) -> bool:  # ABANDONED
        row = self.row
        if row is None or row.record.locked_until is None or not self._due:
            return False
        if row.record.sent_at is not None or row.cleared_at is not None:
            return False
        self.row = None
        return True

    def retire(self) -> bool:  # RETIRE
        done = self.row and self.row.completed_at
        if done is None or done >= self.now - RETENTION:
            return False
        self.row = None
        return True

    def wait(self, time: timedelta) -> None:
        self.now += time

    @property
    def _due(self) -> bool:  # _DUE
        assert self.row is not None
        record = self.row.record
        late = record.locked_until if record.held_at is None else record.next_check_at
        return record.status is Status.IN_PROGRESS and late is not None and late <= self.now

    def _own(self, owner: int) -> Row | None:  # _OWN, and in progress
        return self.row if self.row is not None and self.row.token == owner else None

    def _take(self, owner: int) -> Record:  # _TAKE
        assert self.row is not None
        until = "locked_until" if self.row.record.held_at is None else "next_check_at"
        self._write(**{until: self.now + LEASE})
        self.row = replace(self.row, token=owner)
        return self.row.record

    def _clear(self, until: datetime) -> None:
        self._write(
            locked_until=until, sent_at=None, held_at=None, hold_reason="", next_check_at=None
        )
        assert self.row is not None
        self.row = replace(self.row, cleared_at=self.now)

    def _finish(self, answer: Answer) -> bool:  # _FINISH
        self._write(
            status=answer.outcome, answer=answer, locked_until=None, sent_at=None,
            held_at=None, hold_reason="", next_check_at=None,
        )  # fmt: skip
        assert self.row is not None
        self.row = replace(self.row, token=None, completed_at=self.now)
        return True

    def _write(self, **columns: object) -> None:
        assert self.row is not None
        self.row = replace(self.row, record=replace(self.row.record, **columns))  # type: ignore[arg-type]
