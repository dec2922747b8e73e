"""An event is applied once, by whoever finds it, and a worker that dies loses nothing."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError

from fulfilment import tasks
from fulfilment.models import Case, Evidence, Fulfilment
from fulfilment.reconcile import resolve
from fulfilment.webhooks import applying
from fulfilment.webhooks.applying import apply, apply_due
from tests.integration.fulfilment.support import now, path
from tests.integration.webhooks.support import (
    Killed,
    about,
    deliver,
    due,
    event,
    killed,
    stored,
    unknown,
)

pytestmark = pytest.mark.django_db


def test_a_worker_that_dies_before_the_verdict_leaves_an_event_that_is_not_applied(
    monkeypatch, books
) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    with monkeypatch.context() as patch:
        patch.setattr(resolve, "resolve", killed)
        with pytest.raises(Killed):
            apply(stored(body).pk)
    assert stored(body).applied_at is None, "marked as applied before the work was done"
    assert Evidence.objects.filter(source="webhook").count() == 1
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert Evidence.objects.filter(source="webhook").count() == 1, "it was recorded twice"
    assert books.told == {"fulfilled": 1}


def test_a_worker_that_dies_after_the_verdict_takes_the_verdict_with_it(monkeypatch, books) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    with monkeypatch.context() as patch:
        patch.setattr(applying, "_applied", killed)
        with pytest.raises(Killed):
            apply(stored(body).pk)
    assert now(row).state == "needs_reconciliation"
    assert stored(body).applied_at is None
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert len(path(row)) == 4, f"the verdict was given twice: {path(row)}"


def test_an_error_while_applying_heals_by_itself(monkeypatch, books) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    books.refuses = OperationalError("canceling statement due to lock timeout")
    apply(stored(body).pk)
    assert (now(row).state, stored(body).status) == ("needs_reconciliation", "parked")
    assert not Case.objects.exists(), "a lock that was not free is nobody's refusal"
    books.refuses = None
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert Evidence.objects.filter(source="webhook").count() == 1


def test_books_that_refuse_leave_a_case_and_an_applied_event(books) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    books.refuses = ValueError("the account is closed")
    apply_due()
    assert Case.objects.get().reason == "handler_failed"
    assert stored(body).status == "applied"


def test_one_event_that_fails_does_not_keep_the_others(monkeypatch, books) -> None:
    bad, good = unknown(), unknown()
    deliver(about(bad, amount=7))
    bodies = [about(good)]
    deliver(bodies[0])
    write = applying.write

    def picky(row: Fulfilment, *args: Any, **kwargs: Any) -> Evidence:
        if row == bad:
            raise RuntimeError("a bug")
        return write(row, *args, **kwargs)

    monkeypatch.setattr(applying, "write", picky)
    apply_due()
    assert now(good).state == "fulfilled"
    assert now(bad).state == "needs_reconciliation"


def test_two_workers_do_not_take_the_same_event() -> None:
    body = event(reference="nobody")
    deliver(body)
    first = applying._take(stored(body).pk)
    assert first is not None
    assert applying._take(stored(body).pk) is None


# --- what is not known (yet) -----------------------------------------------------------------------


def test_a_worker_hears_of_an_event_only_after_its_commit(
    settings, monkeypatch, django_capture_on_commit_callbacks
) -> None:
    heard: list[int] = []
    monkeypatch.setattr(tasks, "hint_event", heard.append)
    settings.FULFILMENT["EVENT_HINT"] = "fulfilment.tasks.hint_event"
    with django_capture_on_commit_callbacks(execute=True):
        body = event()
        deliver(body)
        assert heard == []
    assert heard == [stored(body).pk]


def test_the_tasks_apply_events(books) -> None:
    first, second = unknown(), unknown()
    bodies = [about(first), about(second)]
    for body in bodies:
        deliver(body)
    tasks.apply_event(stored(bodies[0]).pk)
    assert (now(first).state, now(second).state) == ("fulfilled", "needs_reconciliation")
    tasks.apply_due()
    assert now(second).state == "fulfilled"
    assert tasks.apply_event.max_retries == tasks.apply_due.max_retries == 0


def test_without_a_broker_the_sweeps_apply_events(capsys) -> None:
    row = unknown()
    deliver(about(row))
    call_command("run_sweeps", "--once")
    assert "applied 1" in capsys.readouterr().out
    assert now(row).state == "fulfilled"


# --- a body that proves nothing --------------------------------------------------------------------
