"""Where a fulfilment begins."""

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from fulfilment import store, transitions
from fulfilment.errors import UnknownConnector, UnknownKind
from fulfilment.models import Fulfilment
from fulfilment.states import State, reference_of
from tests.integration.fulfilment.support import now, path, start
from tests.integration.fulfilment.walk import step, walked

pytestmark = pytest.mark.django_db


def test_a_row_begins_pending_and_due_and_remembers_who_asked() -> None:
    row = start("transfer:one")
    assert (row.state, row.version, row.started_by) == ("pending", 0, "api:ada")
    assert row.next_check_at is not None
    assert row.reference == reference_of("transfer:one", connector="memory", generation=1)


def test_whatever_asks_again_gets_the_row_that_is_there() -> None:
    first = start("p1", event_id="e1")
    for payment, event in (("p1", "e1"), ("p1", "e2"), ("p2", "e1")):
        assert start(payment, event_id=event).pk == first.pk
    assert Fulfilment.objects.count() == 1, "two rows for one payment would be two effects"


def test_a_failed_payment_is_not_paid_by_a_later_event() -> None:
    row = start("p1", event_id="e1")
    row = walked(row, State.FAILED)
    assert start("p1", event_id="e2").pk == row.pk
    assert now(row).state == State.FAILED


@pytest.mark.django_db(transaction=True)
def test_a_later_event_waits_for_nobody_who_is_settling_the_payment() -> None:
    row = start("p1", event_id="e1")
    moving = connection.copy()
    try:
        moving.set_autocommit(False)
        with moving.cursor() as cursor:
            cursor.execute("UPDATE fulfilment SET next_check_at = now() WHERE id = %s", [row.pk])
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1s'")
            try:
                again = start("p1", event_id="e2")
            except OperationalError:
                pytest.fail(
                    "it waits for the one who settles, who may wait for the payment that the "
                    "event's transaction has locked: a deadlock"
                )
        assert again.pk == row.pk
    finally:
        moving.rollback()
        moving.close()


def test_what_could_never_be_settled_is_refused_before_anything_is_written() -> None:
    with pytest.raises(UnknownKind, match="nobody-knows"):
        start(kind="nobody-knows")
    with pytest.raises(UnknownConnector, match="nowhere"):
        start(connector="nowhere")
    assert not Fulfilment.objects.exists()


def test_an_amount_of_nothing_is_refused_by_the_database() -> None:
    with pytest.raises(IntegrityError, match="fulfilment_amount_positive"), transaction.atomic():
        # not through start(): ON CONFLICT leaves CHECKs alone, and so does this
        start(amount=0)


@pytest.mark.django_db(transaction=True)
def test_a_worker_hears_of_it_after_the_commit_and_never_of_a_rollback(settings) -> None:
    settings.FULFILMENT["HINT"] = f"{__name__}.heard"
    HEARD.clear()
    with transaction.atomic():
        row = start("kept")
        assert not HEARD, "a worker that is told before the commit does not find the row"
    assert row.pk in HEARD
    with transaction.atomic():
        start("lost")
        transaction.set_rollback(True)
    assert len(HEARD) == 1


@pytest.mark.django_db(transaction=True)
def test_a_hint_that_fails_spoils_nothing(settings) -> None:
    settings.FULFILMENT["HINT"] = f"{__name__}.deaf"
    assert start().state == "pending"


def test_a_move_from_a_state_that_is_gone_changes_nothing() -> None:
    row = start()
    check = store.now()
    moved = step(row, State.DISPATCHING, actor="one")
    late = transitions.move(
        row, to=State.NEEDS_RECONCILIATION, actor="two", reason="t", next_check_at=check
    )
    assert moved is not None
    assert late is None, "the second worker moved a row that was not where it had read it"
    assert path(row) == ["pending", "dispatching"]
    told = str(transitions.stale(row.pk))
    assert "one changed this" in told
    assert "dispatching" in told


HEARD: list[int] = []


def heard(fulfilment_id: int) -> None:
    HEARD.append(fulfilment_id)


def deaf(fulfilment_id: int) -> None:
    raise ConnectionError("no broker")
