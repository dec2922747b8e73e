"""What was never sent can be taken back; of everything else it is said why not."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from fulfilment import Handlers, NotCancellable, cancel, handlers, store, transitions
from fulfilment.dispatch import attempt, sweep
from fulfilment.errors import HandlerFailed, NotAllowed, Stale, VerdictRefused
from fulfilment.models import Attempt, Case, CaseAction, Fulfilment
from fulfilment.reconcile.cancellations import cancel_by_hand
from fulfilment.states import State
from tests.integration.fulfilment.support import due, held, now, path, staff, start

pytestmark = pytest.mark.django_db


def take_back(row: Fulfilment, **given: str) -> Fulfilment:
    return cancel(row.payment_id, **({"actor": "user:ada", "reason": "changed my mind"} | given))


def test_what_waits_to_be_sent_for_the_first_time_is_cancelled_and_the_books_hear_it(books) -> None:
    row = start()
    cancelled = take_back(row)
    assert (cancelled.state, cancelled.next_check_at) == ("cancelled", None)
    assert books.told == {"cancelled": 1}
    move = row.transitions.get()
    assert (move.actor, move.reason) == ("user:ada", "changed my mind")


def test_a_cancelled_payment_is_never_sent(provider) -> None:
    row = start()
    take_back(row)
    assert attempt.run(row.pk) is None
    assert provider.sends == []


def test_cancelling_again_succeeds_and_restamps_nothing(books) -> None:
    row = start()
    first = take_back(row)
    again = take_back(row, actor="staff:amy", reason="me too")
    assert (again.version, again.decided_at) == (first.version, first.decided_at)
    assert books.told == {"cancelled": 1}


def test_a_worker_that_died_before_its_mark_sent_nothing() -> None:
    row = start()
    held(row, sent=False)
    sweep.sweep()
    assert take_back(row).state == "cancelled"


@pytest.mark.parametrize("fault", ["not_sent", "refuse"])
def test_an_attempt_that_was_marked_cannot_be_taken_back_whatever_came_of_it(
    provider, books, fault: str
) -> None:
    provider.will.append(fault)
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "pending"
    with pytest.raises(NotCancellable, match="sent before and may have arrived"):
        take_back(row)
    assert (now(row).state, books.told) == ("pending", {})


def test_an_attempt_that_may_have_been_sent_before_a_backup_counts_as_sent() -> None:
    row = start()
    gone = held(row, sent=False)
    sweep.sweep()
    Attempt.objects.filter(pk=gone.pk).update(maybe_sent=True)
    with pytest.raises(NotCancellable):
        take_back(row)


@pytest.mark.parametrize("state", ["dispatching", "needs_reconciliation", "fulfilled"])
def test_what_is_sent_or_decided_cannot_be_cancelled(provider, books, state: str) -> None:
    row = start()
    if state == "dispatching":
        held(row, sent=False, lease_over=False)
    else:
        provider.will.append("lose_request" if state == "needs_reconciliation" else "ok")
        attempt.run(row.pk)
    with pytest.raises(NotCancellable, match=state.replace("_", " ")):
        take_back(row)
    assert now(row).state == state
    assert "cancelled" not in books.told


def test_a_payment_that_nobody_knows_is_not_cancelled() -> None:
    with pytest.raises(NotCancellable, match="no payment on record"):
        cancel("transfer:nobody", actor="user:ada", reason="-")


def test_books_that_refuse_leave_it_waiting(books) -> None:
    row = start()
    books.refuses = ValueError("the hold is gone")
    with pytest.raises(HandlerFailed, match="the hold is gone"):
        take_back(row)
    assert path(row) == ["pending"]


def test_a_kind_that_does_not_want_to_hear_of_it_need_not(monkeypatch, books) -> None:
    quiet = books.handlers()
    monkeypatch.setitem(
        handlers._registered,
        "test",
        Handlers(
            on_fulfilled=quiet.on_fulfilled,
            on_failed=quiet.on_failed,
            on_reversed=quiet.on_reversed,
        ),
    )
    assert take_back(start()).state == "cancelled"


def test_it_joins_the_callers_transaction() -> None:
    row = start()
    with transaction.atomic():
        take_back(row)
        transaction.set_rollback(True)
    assert now(row).state == "pending"


def test_the_same_event_again_finds_the_cancelled_payment_and_begins_nothing() -> None:
    row = start()
    take_back(row)
    again = start(row.payment_id, event_id=row.event_id)
    assert (again.pk, again.state) == (row.pk, "cancelled"), "a cancelled payment began again"


def test_the_database_itself_refuses_to_cancel_what_was_sent(provider) -> None:
    provider.will.append("not_sent")
    row = start()
    attempt.run(row.pk)
    with pytest.raises(IntegrityError, match="may have been sent is never cancelled"):
        transitions.move(now(row), to=State.CANCELLED, actor="t", reason="t")


class TestByHand:
    @pytest.fixture
    def amy(self):
        return staff("amy", "cancel_pending")

    def test_it_needs_a_permission_of_its_own(self) -> None:
        row, person = start(), staff("bob", "resolve_failed", superuser=True)
        with pytest.raises(NotAllowed, match=r"fulfilment\.cancel_pending"):
            cancel_by_hand(row.pk, actor=person, note="duplicate", version=0)
        assert now(row).state == "pending"

    def test_the_note_stays_on_a_closed_case_and_the_journal_names_the_person(self, amy) -> None:
        row = start()
        cancel_by_hand(row.pk, actor=amy, note="asked by telephone", version=row.version)
        action = CaseAction.objects.get(action="resolved")
        assert (action.verdict, action.note) == ("cancelled", "asked by telephone")
        assert Case.objects.get().closed_by == "staff:amy"
        assert row.transitions.get().actor == "staff:amy"

    def test_without_a_reason_nothing_happens(self, amy) -> None:
        row = start()
        with pytest.raises(VerdictRefused, match="Say why"):
            cancel_by_hand(row.pk, actor=amy, note="  ", version=0)
        assert now(row).state == "pending"

    def test_the_second_click_changes_nothing(self, amy, books) -> None:
        row = start()
        for _ in range(2):
            cancel_by_hand(row.pk, actor=amy, note="duplicate", version=0)
        assert books.told == {"cancelled": 1}
        assert CaseAction.objects.filter(action="resolved").count() == 1

    def test_a_form_from_before_an_attempt_is_stale(self, amy, provider) -> None:
        row = start()
        provider.will.append("not_sent")
        attempt.run(row.pk)
        with pytest.raises(Stale):
            cancel_by_hand(row.pk, actor=amy, note="duplicate", version=0)

    def test_a_refusal_leaves_no_note_behind(self, amy, provider) -> None:
        row = start()
        provider.will.append("not_sent")
        attempt.run(row.pk)
        with pytest.raises(NotCancellable):
            cancel_by_hand(row.pk, actor=amy, note="duplicate", version=now(row).version)
        assert not Case.objects.exists()


def test_the_open_case_of_a_payment_that_waited_too_long_is_closed_with_it(settings) -> None:
    settings.FULFILMENT = settings.FULFILMENT | {"PENDING_DEADLINE": timedelta(0)}
    row = start()
    due(row)
    sweep.open_cases_for_waiting()
    assert Case.objects.get().reason == "pending_too_long"
    take_back(row)
    assert Case.objects.get().closed_at <= store.now()
