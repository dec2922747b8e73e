"""The machine of the pure contract, driving the real statements: each does what its model says."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from hypothesis.stateful import invariant, run_state_machine_as_test

from idempotency import leases, retention, store
from idempotency.contract import Answer, Record
from idempotency.errors import ClaimLost
from tests.integration.idempotency.conftest import COMMITTING
from tests.machine.leased import LeasedLife
from tests.machine.runs import some
from tests.machine.shelf import CALL, KEY, LEASE, OPERATION, RECHECK, RETENTION, SCOPE, Shelf

pytestmark = [COMMITTING, pytest.mark.long]

ROW = {"scope": SCOPE, "key": KEY}

# Time passes for the row, instead of for the clock.
PASS = """
UPDATE idempotency_keys
   SET created_at = created_at - %(time)s, completed_at = completed_at - %(time)s,
       locked_until = locked_until - %(time)s, sent_at = sent_at - %(time)s,
       cleared_at = cleared_at - %(time)s, held_at = held_at - %(time)s,
       next_check_at = next_check_at - %(time)s
"""


class Both(Shelf):
    """Every statement in PostgreSQL, and its model beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: dict[int, UUID] = {}
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM idempotency_keys")

    def look(self) -> tuple[Record, datetime] | None:
        model, real = super().look(), store.read(**ROW)
        seen = None if real is None else (real.record, real.now)
        assert shape(seen) == shape(model), "the row is not what the model says"
        return seen

    def claim(self, owner: int, *, fingerprint: str) -> bool:
        token = self.tokens[owner] = uuid4()
        won = store.claim(
            **ROW, fingerprint=fingerprint, operation=OPERATION, token=token, lease=LEASE
        )
        return same(won, super().claim(owner, fingerprint=fingerprint))

    def mark(self, owner: int) -> bool:
        real = kept(lambda: leases.mark(**ROW, token=self._token(owner), call=CALL))
        return same(real, super().mark(owner))

    def settle(self, owner: int, answer: Answer) -> bool:
        def settling() -> None:
            with transaction.atomic(durable=True):
                leases.lock(**ROW, token=self._token(owner))
                store.settle(**ROW, answer=answer, token=self._token(owner))

        return same(kept(settling), super().settle(owner, answer))

    def settle_held(self, answer: Answer) -> bool:
        held_at = self._held_at()
        real = held_at and store.settle_held(**ROW, answer=answer, held_at=held_at)
        return same(bool(real), super().settle_held(answer))

    def release(self, owner: int) -> bool:
        real = kept(lambda: leases.release(**ROW, token=self._token(owner)))
        return same(real, super().release(owner))

    def hold(self, owner: int) -> bool:
        real = kept(lambda: leases.hold(**ROW, token=self._token(owner), reason="unknown"))
        return same(real, super().hold(owner))

    def restart(self, owner: int, *, lease: timedelta) -> bool:
        real = kept(lambda: leases.restart(**ROW, token=self._token(owner), lease=lease))
        return same(real, super().restart(owner, lease=lease))

    def free(self) -> bool:
        held_at = self._held_at()
        real = held_at is not None and leases.free(**ROW, held_at=held_at)
        return same(real, super().free())

    def take_over(self, owner: int, *, fingerprint: str) -> Record | None:
        found = leases.take_over(**ROW, fingerprint=fingerprint, lease=LEASE)
        return self._taken(owner, found, super().take_over(owner, fingerprint=fingerprint))

    def take_due(self, owner: int) -> Record | None:
        return self._taken(owner, leases.take_due(OPERATION, lease=LEASE), super().take_due(owner))

    def forget_abandoned(self) -> bool:
        return same(leases.forget_abandoned(batch=9) == 1, super().forget_abandoned())

    def retire(self) -> bool:
        return same(retention.retire() == 1, super().retire())

    def wait(self, time: timedelta) -> None:
        super().wait(time)
        with connection.cursor() as cursor:
            cursor.execute(PASS, {"time": time})

    def _token(self, owner: int) -> UUID:
        return self.tokens.get(owner, SCOPE)

    def _taken(self, owner: int, found: Any, model: Record | None) -> Record | None:
        seen = None
        if found is not None:
            self.tokens[owner], row = found
            seen = (row.record, row.now)
        assert shape(seen) == shape(model and (model, self.now)), "taken is not what the model says"
        return seen and seen[0]

    def _held_at(self) -> datetime | None:
        row = store.read(**ROW)
        return None if row is None else row.record.held_at


def kept(statement: Callable[[], object]) -> bool:
    """True if the claim was the caller's."""
    try:
        statement()
    except ClaimLost:
        return False
    return True


def same(real: bool, model: bool) -> bool:
    assert real == model, f"the statement says {real}, and its model {model}"
    return real


def shape(seen: tuple[Record, datetime] | None) -> object:
    """A record without the moments that only one of the two clocks has."""
    if seen is None:
        return None
    record, now = seen
    return (
        (record.scope, record.key, record.operation, record.fingerprint),
        (record.status, record.answer, record.hold_reason),
        (record.sent_at is None, record.held_at is None),
        (_away(record.locked_until, now), _away(record.next_check_at, now)),
    )


def _away(moment: datetime | None, now: datetime) -> int | None:
    """In steps of five minutes: real seconds pass between two statements, and no example lasts longer."""
    return None if moment is None else round((moment - now) / timedelta(minutes=5))


class OnPostgreSQL(LeasedLife):
    def open_shelf(self) -> Any:
        return Both()

    @invariant()
    def as_the_model_says(self) -> None:
        self.shelf.look()


def test_the_statements_on_postgresql_do_what_the_machine_has_proven(settings: Any) -> None:
    settings.IDEMPOTENCY = {
        "CACHE": None, "RECHECK_FIRST": RECHECK, "RECHECK_LAST": RECHECK, "RETENTION": RETENTION,
    }  # fmt: skip
    run_state_machine_as_test(OnPostgreSQL, settings=some(examples=30, steps=40, shrink=False))
