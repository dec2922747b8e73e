"""The books and the verdict stand or fall together; what was said stays in any case."""

import pytest
from django.db import OperationalError, transaction

from fulfilment import store
from fulfilment.dispatch import attempt, sweep
from fulfilment.dispatch.claim import claim
from fulfilment.models import Case, Evidence
from fulfilment.reconcile import lookups
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.record import record
from fulfilment.reconcile.resolve import resolve
from tests.integration.fulfilment.support import due, held, now, path, start

pytestmark = pytest.mark.django_db


def test_books_that_refuse_undo_the_verdict_keep_the_evidence_and_open_a_case(books) -> None:
    books.refuses = ValueError("the account is closed")
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "needs_reconciliation"
    assert Evidence.objects.get(fulfilment=row).finding == "done"
    case = Case.objects.get()
    assert case.reason == "handler_failed"
    assert "the account is closed" in case.actions.get(action="opened").note
    assert row.attempts.get().outcome == "done"


def test_books_that_refused_are_tried_again_with_the_next_check(provider, books) -> None:
    books.refuses = ValueError("not now")
    row = start()
    attempt.run(row.pk)
    books.refuses = None
    due(row)
    lookups.look_up_due()
    assert now(row).state == "fulfilled"
    assert books.told == {"fulfilled": 1}
    assert Case.objects.get().closed_at is not None


def test_books_that_refuse_a_swept_row_leave_its_attempt_closed(books) -> None:
    row = start()
    gone = held(row, sent=True)
    said = Statement(finding=Finding.DONE, amount=500, currency="NGN")
    record(now(row), said, source=Source.RESPONSE, actor="worker:gone", attempt=gone)
    books.refuses = ValueError("no")
    sweep.sweep()
    assert path(row) == ["pending", "dispatching", "needs_reconciliation"]
    assert row.attempts.get().outcome == "lost"


def test_a_deadlock_is_not_the_books_refusal(books) -> None:
    books.refuses = OperationalError("deadlock detected")
    row = start()
    with pytest.raises(OperationalError):
        attempt.run(row.pk)
    assert not Case.objects.exists()
    assert now(row).state == "dispatching", "the sweeper will find the evidence and try again"


def test_evidence_during_the_call_is_kept_and_moves_nothing(books) -> None:
    row = start()
    claim(row.pk, worker="worker:a")
    said = Statement(finding=Finding.DONE, amount=500, currency="NGN")
    evidence = record(now(row), said, source=Source.WEBHOOK, actor="provider:memory")
    resolve(row.pk, news=[evidence.pk])
    assert now(row).state == "dispatching"
    assert not books.told


def test_evidence_about_an_earlier_attempt_reaches_a_row_that_waits_to_be_sent(books) -> None:
    row = start()
    held(row, sent=False)
    sweep.sweep()
    assert now(row).state == "pending"
    said = Statement(finding=Finding.DONE, amount=500, currency="NGN")
    evidence = record(now(row), said, source=Source.WEBHOOK, actor="provider:memory")
    resolve(row.pk, news=[evidence.pk])
    assert path(row)[-3:] == ["pending", "needs_reconciliation", "fulfilled"]
    assert books.told == {"fulfilled": 1}


def test_a_late_answer_of_a_dead_token_is_kept_and_judged(provider, books) -> None:
    """The worker was paused, the sweeper closed its attempt, and then its call comes back."""
    row = start()
    claimed = claim(row.pk, worker="worker:a")
    assert attempt.mark(claimed)
    outcome = attempt.send(claimed)
    store.close(claimed.attempt.token, outcome="lost")
    resolve(row.pk)
    assert now(row).state != "fulfilled"
    attempt.settle(claimed, outcome)
    assert now(row).state == "fulfilled", "the late answer was dropped"
    assert books.told == {"fulfilled": 1}
    assert row.attempts.get().outcome == "lost", "a dead token wrote into its attempt"


@pytest.mark.django_db(transaction=True)
def test_evidence_is_never_recorded_where_somebody_else_could_take_it_back() -> None:
    row = start()
    said = Statement(finding=Finding.DONE, amount=500, currency="NGN")
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        record(row, said, source=Source.WEBHOOK, actor="provider:memory")


def test_the_answer_that_agrees_with_the_verdict_changes_nothing(provider, books) -> None:
    row = start()
    attempt.run(row.pk)
    evidence = lookups.query(now(row), actor="resolver")
    resolve(row.pk, news=[evidence.pk])
    assert books.told == {"fulfilled": 1}
    assert not Case.objects.exists()
