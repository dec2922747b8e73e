"""One name, two bodies: nobody can tell which is true, so a person is told of both."""

import logging

import pytest

from fulfilment.models import Case, CaseReason, ProviderEvent, ProviderEventConflict
from fulfilment.reconcile import casebook, resolve
from fulfilment.webhooks import conflicts
from fulfilment.webhooks.applying import apply_due
from tests.integration.fulfilment.support import now, start
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

NAME = "evt_twice"


def test_another_body_is_stored_beside_the_first_with_an_alert(caplog) -> None:
    first, second = event(id=NAME, amount=500), event(id=NAME, amount=501)
    assert deliver(first).status_code == 200
    with caplog.at_level(logging.ERROR):
        assert deliver(second).status_code == 200
    assert bytes(stored(first).payload.body) == first, "the first body was overwritten"
    conflict = ProviderEventConflict.objects.get()
    assert (conflict.event, bytes(conflict.body)) == (stored(first), second)
    assert [r.action for r in caplog.records if r.levelno >= logging.ERROR] == ["event_conflict"]


def test_the_first_body_counts_and_a_case_tells_of_the_second(books) -> None:
    row = unknown()
    deliver(about(row, id=NAME))
    deliver(about(row, "transfer.failed", id=NAME))
    apply_due()
    assert now(row).state == "fulfilled"
    assert books.told == {"fulfilled": 1}
    case = Case.objects.get(fulfilment=row)
    assert (case.reason, case.closed_at) == ("conflict", None)
    assert NAME in case.actions.get(action="opened").note


def test_a_second_body_that_comes_after_the_first_was_applied_opens_a_case() -> None:
    row = unknown()
    deliver(about(row, id=NAME))
    apply_due()
    assert not Case.objects.exists()
    deliver(about(row, id=NAME, amount=1))
    apply_due()
    assert Case.objects.get(fulfilment=row).reason == "conflict"


def test_an_open_case_is_told_and_no_second_one_is_opened() -> None:
    row = start()
    casebook.open_case(row, reason=CaseReason.OPENED_BY_AGENT, actor="staff:a")
    deliver(about(row, id=NAME, status="odd"))
    deliver(about(row, id=NAME, status="odder"))
    apply_due()
    case = Case.objects.get()
    assert [a.note for a in case.actions.filter(action="noted", actor="provider:memory")] == [
        f"event {NAME} (transfer.succeeded) came again with another body"
    ]


def test_however_often_both_bodies_come_there_is_one_conflict_and_one_note() -> None:
    row = unknown()
    bodies = [about(row, id=NAME), about(row, id=NAME, amount=1)] * 3
    assert {deliver(body).status_code for body in bodies} == {200}
    for _ in range(3):
        apply_due()
    assert ProviderEvent.objects.count() == ProviderEventConflict.objects.count() == 1
    assert Case.objects.get().actions.count() == 1


def test_each_other_body_is_kept_and_told() -> None:
    row = unknown()
    for amount in (500, 1, 2):
        deliver(about(row, id=NAME, amount=amount))
    apply_due()
    assert ProviderEventConflict.objects.filter(raised_at__isnull=False).count() == 2
    assert Case.objects.get().actions.count() == 2


def test_the_case_waits_for_the_verdict_that_would_close_it(monkeypatch) -> None:
    row = unknown()
    deliver(about(row, id=NAME))
    deliver(about(row, id=NAME, amount=1))
    with monkeypatch.context() as patch:
        patch.setattr(resolve, "resolve", killed)
        with pytest.raises(Killed):
            apply_due()
    assert conflicts.raise_new() == 0
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert Case.objects.get(fulfilment=row).closed_at is None


def test_a_conflict_about_nothing_here_has_no_case_and_waits_for_none() -> None:
    deliver(event("some.thing", id=NAME))
    deliver(event("some.thing", id=NAME, amount=1))
    assert apply_due() == 0
    assert not Case.objects.exists()
    assert ProviderEventConflict.objects.get().raised_at is None
