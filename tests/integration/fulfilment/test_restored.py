"""After a restored backup everything that was open counts as sent, in every guard."""

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

import fulfilment
from fulfilment import store, transitions
from fulfilment.connectors.base import Dedupe
from fulfilment.dispatch import attempt, restored, sweep
from fulfilment.dispatch.claim import claim
from fulfilment.errors import NotCancellable
from fulfilment.models import Attempt, Case, Evidence, Fulfilment
from fulfilment.reconcile import lookups, policy
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.reading import situation_of
from fulfilment.reconcile.record import record
from fulfilment.states import State
from tests.integration.fulfilment.support import due, held, now, path, start, unreadable

pytestmark = pytest.mark.django_db


def after_restore(**options) -> str:
    out = io.StringIO()
    call_command("after_restore", stdout=out, **({"yes": True} | options))
    return out.getvalue()


def test_each_open_row_gets_a_closed_attempt_that_counts_as_sent(provider) -> None:
    pending, dispatching, decided = start(), start(), start()
    attempt.run(decided.pk)
    held(dispatching, sent=False, lease_over=False)
    said = after_restore()
    assert "1 pending, 1 dispatching; 0 waited already" in said
    for row in (pending, dispatching):
        assert now(row).state == "needs_reconciliation"
        assert now(row).next_check_at > store.now()
        last = row.attempts.order_by("-number").first()
        assert (last.maybe_sent, last.sent_at, last.outcome) == (True, None, "lost")
        assert not row.attempts.filter(maybe_sent=False).exists(), "a lost mark counts as no mark"
        assert last.lease_until > store.now(), "a worker of the lost days may still hold a lease"
    assert not Attempt.objects.filter(closed_at=None).exists()
    assert now(decided).attempts.count() == 1, "a decided row was doubted"
    actors = set(pending.transitions.values_list("actor", flat=True))
    assert actors == {"restore"}, "the journal does not say who took it back"


def test_it_is_safe_twice() -> None:
    start(), held(start(), sent=True)
    after_restore()
    before = list(Fulfilment.objects.order_by("pk").values()), Attempt.objects.count()
    assert "0 pending, 0 dispatching; 0 waited already" in after_restore()
    assert (list(Fulfilment.objects.order_by("pk").values()), Attempt.objects.count()) == before


def test_a_row_that_waited_already_may_have_been_sent_again_since() -> None:
    row = start()
    held(row, sent=True)
    sweep.sweep()
    assert situation_of(now(row)).fenced
    assert "0 pending, 0 dispatching; 1 waited already" in after_restore()
    assert not situation_of(now(row)).fenced, "a person could say “not done” of a call under way"


def test_nothing_of_it_is_cancelled_even_when_it_waits_to_be_sent_again() -> None:
    row = start()
    after_restore()
    again = transitions.move(
        now(row), to=State.PENDING, actor="resolver", reason="not found", next_check_at=store.now()
    )
    with pytest.raises(NotCancellable):
        fulfilment.cancel(again, actor="api:ada", reason="changed my mind")


def test_it_is_not_sent_again_by_a_provider_that_knows_no_references(provider) -> None:
    provider.promises(dedupe=Dedupe.NONE)
    row = start()
    after_restore()
    assert not policy.may_send(situation_of(now(row)))
    due(row)
    lookups.look_up_due()
    assert now(row).state == "needs_reconciliation"
    assert provider.sends == []


def test_a_provider_that_cannot_be_asked_goes_to_a_person_at_once(provider) -> None:
    provider.promises(lookup_by_reference=False)
    start()
    after_restore()
    assert Case.objects.get().reason == "cannot_ask"


def test_its_deadline_for_a_person_counts_from_when_it_can_have_been_sent(settings) -> None:
    settings.FULFILMENT["CASE_DEADLINE"] = timedelta(seconds=1)
    row = start()
    after_restore()
    due_at = policy.case_due_at(situation_of(now(row)))
    assert due_at == row.created_at + timedelta(seconds=1)


def test_the_answer_to_a_call_that_runs_meanwhile_is_taken(provider, books) -> None:
    row = start()
    in_hand = claim(row.pk, worker="worker:at work")
    assert in_hand
    assert attempt.mark(in_hand)
    after_restore()
    attempt.settle(in_hand, attempt.send(in_hand))
    assert now(row).state == "fulfilled"
    assert (len(provider.sends), books.told) == (1, {"fulfilled": 1})


def test_a_worker_that_has_not_called_yet_does_not_call(provider) -> None:
    row = start()
    in_hand = claim(row.pk, worker="worker:at work")
    assert in_hand
    after_restore()
    assert not attempt.mark(in_hand), "a call would be made of which nothing is known here"


def test_what_is_on_record_decides_at_once(books) -> None:
    row = start()
    held(row, sent=True, lease_over=False)
    said = Statement(finding=Finding.DONE, amount=row.amount, currency=row.currency)
    record(row, said, source=Source.WEBHOOK, actor="provider:memory")
    after_restore()
    assert now(row).state == "fulfilled"
    assert path(row)[-2:] == ["needs_reconciliation", "fulfilled"]


def test_books_that_refuse_open_a_case_and_nothing_stays_open(books) -> None:
    row = start()
    held(row, sent=True, lease_over=False)
    said = Statement(finding=Finding.DONE, amount=row.amount, currency=row.currency)
    record(row, said, source=Source.WEBHOOK, actor="provider:memory")
    books.refuses = ValueError("closed")
    after_restore()
    assert now(row).state == "needs_reconciliation"
    assert Case.objects.get().reason == "handler_failed"
    assert not row.attempts.filter(closed_at=None).exists()


def test_a_row_that_raises_does_not_keep_the_others() -> None:
    broken, fine = start(), start()
    unreadable(broken)
    with pytest.raises(CommandError, match="Run it again"):
        after_restore()
    assert [now(row).state for row in (broken, fine)] == ["pending", "needs_reconciliation"]


def test_without_a_yes_nothing_happens(monkeypatch) -> None:
    row = start()
    monkeypatch.setattr("builtins.input", lambda _: "no")
    with pytest.raises(CommandError, match="Nothing was changed"):
        after_restore(yes=False)
    assert now(row).state == "pending"
    assert not Evidence.objects.exists()


def test_a_cache_that_is_not_there_keeps_no_payment_and_is_said(settings) -> None:
    row = start()
    at_fault = settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": at_fault}
    out = io.StringIO()
    with pytest.raises(CommandError, match="Not everything was done"):
        call_command("after_restore", yes=True, stdout=out)
    assert "Known events forgotten: not done (ConnectionError)" in out.getvalue()
    assert now(row).state == "needs_reconciliation", "the money waited for a cache"


def test_only_what_is_open_is_looked_at() -> None:
    row = start()
    fulfilment.cancel(row, actor="api:ada", reason="changed my mind")
    assert restored.doubt(row.pk) is None
