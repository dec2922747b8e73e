"""At most one live fulfilment per payment, and each guard where it alone decides."""

from datetime import timedelta
from functools import partial
from threading import Barrier

import pytest
from django.db import IntegrityError, connection, transaction

from fulfilment import store
from fulfilment.dispatch import attempt, sweep
from fulfilment.models import Attempt, Fulfilment
from fulfilment.states import State, reference_of
from tests.concurrency.fulfilments import at_once, scratch_database, until_somebody_waits
from tests.integration.fulfilment.conftest import books, provider, world  # noqa: F401
from tests.integration.fulfilment.support import held, now, path, start
from tests.integration.fulfilment.walk import step, walked

pytestmark = pytest.mark.django_db(transaction=True)

TWO_LIVE = (
    "two live fulfilments for one payment: the partial unique index "
    "fulfilment_one_live_per_payment is missing"
)

_GUARD = "fulfilment_generation_guard"


def open_second_generation(row: Fulfilment) -> None:
    """On another connector, so no other constraint of the table can be what refuses it."""
    at = store.now()
    Fulfilment.objects.create(
        kind=row.kind,
        event_id=row.event_id,
        payment_id=row.payment_id,
        generation=2,
        reference=reference_of(row.payment_id, connector="other", generation=2),
        connector="other",
        amount=row.amount,
        currency=row.currency,
        next_check_at=at,
        created_at=at,
        state_changed_at=at,
    )


def assert_one_live(payment_id: str) -> None:
    """The oracle: how many effects could this payment still have, or has it had?"""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM fulfilment"
            " WHERE payment_id = %s AND state NOT IN ('failed', 'cancelled')",
            [payment_id],
        )
        assert cursor.fetchone()[0] <= 1, TWO_LIVE


@pytest.mark.parametrize(
    "state", [s for s in State if s not in {State.FAILED, State.CANCELLED}], ids=str
)
def test_a_second_generation_is_refused_while_the_first_lives(state: State) -> None:
    row = start()
    row = walked(row, state)
    with pytest.raises(IntegrityError, match="begins in the transaction in which 1 failed"):
        open_second_generation(row)
    assert_one_live(row.payment_id)


def test_the_partial_index_alone_refuses_a_second_live_one() -> None:
    with scratch_database(f"DROP TRIGGER {_GUARD} ON fulfilment"):
        row = start()
        with pytest.raises(IntegrityError, match="fulfilment_one_live_per_payment"):
            open_second_generation(row)


def test_a_second_generation_may_follow_a_failure() -> None:
    with transaction.atomic():
        row = walked(start(), State.FAILED)
        open_second_generation(row)
    assert_one_live(row.payment_id)


def test_without_the_partial_index_the_oracle_names_it() -> None:
    with scratch_database(
        "DROP INDEX fulfilment_one_live_per_payment", f"DROP TRIGGER {_GUARD} ON fulfilment"
    ):
        row = start()
        open_second_generation(row)
        with pytest.raises(AssertionError, match=TWO_LIVE):
            assert_one_live(row.payment_id)


def test_many_events_of_one_payment_start_one_fulfilment() -> None:
    def ask(event: str):
        def work() -> int:
            with transaction.atomic():
                return start("payment", event_id=event).pk

        return work

    found = at_once(*(ask(f"event:{n % 4}") for n in range(8)))
    assert len(set(found)) == 1, f"one payment led to several rows: {found}"
    assert Fulfilment.objects.count() == 1


def test_two_workers_that_claim_one_row_make_one_call(provider) -> None:  # noqa: F811
    for _ in range(10):
        row = start()
        ran = at_once(*[partial(attempt.run, row.pk, worker=f"worker:{n}") for n in range(4)])
        assert not [r for r in ran if isinstance(r, BaseException)], ran
        assert provider.sends.count(row.reference) == 1, "two workers called: the claim is no lock"
        assert Attempt.objects.filter(fulfilment=row).count() == 1
        assert path(row) == ["pending", "dispatching", "fulfilled"]


def test_two_sweepers_take_a_row_back_once() -> None:
    row = start()
    held(row, sent=False)
    swept = at_once(*[sweep.sweep] * 4)
    assert sorted(swept, key=str) == [0, 0, 0, 1]
    assert now(row).failed_starts == 1


def test_the_sweeper_that_meets_a_mark_sees_it() -> None:
    """The mark is not committed when the sweeper begins: a read before the update would miss it.

    The sweeper's one statement waits for the mark's transaction and then tells what it found.
    """
    row = start()
    gone = held(row, sent=False)
    marking = Barrier(2, timeout=20)

    def mark() -> None:
        with transaction.atomic():
            Attempt.objects.filter(pk=gone.pk).update(sent_at=store.now())
            marking.wait()
            until_somebody_waits()

    def take_back() -> int:
        marking.wait()
        return sweep.sweep()

    _, swept = at_once(mark, take_back)
    assert swept == 1, swept
    assert now(row).state == "needs_reconciliation", (
        "a row that was marked as sent went back to pending: closing the attempt and learning "
        "sent_at are no longer one statement"
    )
    assert now(row).attempts.get().outcome == "lost"


def test_a_mark_that_comes_after_the_sweeper_makes_no_call() -> None:
    """The lease still covers a call: it is the closed attempt alone that refuses the mark."""
    row = start()
    gone = held(row, sent=False, lease_over=False)
    step(now(row), State.NEEDS_RECONCILIATION)
    marked = store.mark_sent(gone.token, call=timedelta(seconds=1))
    assert not marked, "a swept attempt was marked: its worker would call now"
