"""What was paid and came back: booked once, the first posting stays, whoever said it and when."""

import pytest

from fulfilment.connectors.base import Reversed
from fulfilment.dispatch import attempt, sweep
from fulfilment.dispatch.claim import claim
from fulfilment.models import Case, Evidence, Fulfilment
from fulfilment.reconcile import lookups
from fulfilment.reconcile.evidence import Finding
from tests.integration.fulfilment.support import denied, due, event, held, now, path, staff, start

pytestmark = pytest.mark.django_db

BOTH = {"fulfilled": 1, "reversed": 1}


@pytest.fixture
def paid() -> Fulfilment:
    row = start()
    attempt.run(row.pk)
    return now(row)


@pytest.fixture
def unknown() -> Fulfilment:
    row = start()
    held(row, sent=True)
    sweep.sweep()
    return now(row)


def test_an_event_after_success_reverses_it_on_that_evidence(paid, books) -> None:
    said = event(paid, Finding.REVERSED)
    assert now(paid).state == "reversed"
    assert books.told == BOTH
    last = paid.transitions.order_by("-version").first()
    assert (last.before, last.evidence, last.actor) == ("fulfilled", said, "resolver")
    assert not Case.objects.exists()


def test_a_look_up_by_a_person_finds_it_and_applies_it(paid, books, provider) -> None:
    provider.give_back(paid.reference)
    lookups.ask(paid.pk, actor=staff("agent", "ask_provider"))
    assert (now(paid).state, books.told) == ("reversed", BOTH)


@pytest.mark.parametrize("again", [Finding.REVERSED, Finding.DONE])
def test_whatever_comes_again_afterwards_changes_nothing(paid, books, again: Finding) -> None:
    event(paid, Finding.REVERSED)
    version = now(paid).version
    event(paid, again)
    assert (now(paid).version, books.told) == (version, BOTH)
    assert not Case.objects.exists()
    assert Evidence.objects.filter(fulfilment=paid).count() == 3, "what was said is kept"


def test_given_back_before_anybody_said_done_is_posted_and_reversed(unknown, books) -> None:
    event(unknown, Finding.REVERSED)
    assert path(unknown)[-2:] == ["fulfilled", "reversed"]
    assert list(books.told) == ["fulfilled", "reversed"], "reversed before it was posted"
    event(unknown, Finding.DONE)
    assert (now(unknown).state, books.told) == ("reversed", BOTH)


def test_given_back_during_the_call_is_kept_and_follows_the_success(books, provider) -> None:
    row = start()
    claimed = claim(row.pk, worker="worker:a")
    assert attempt.mark(claimed)
    event(row, Finding.REVERSED)
    assert (now(row).state, books.told) == ("dispatching", {})
    attempt.settle(claimed, attempt.send(claimed))
    assert path(row) == ["pending", "dispatching", "fulfilled", "reversed"]
    assert books.told == BOTH


def test_a_send_that_finds_it_given_back_already_settles_both(books, provider) -> None:
    provider.will.append(lambda it: Reversed(amount=it.amount, currency=it.currency))
    row = start()
    attempt.run(row.pk)
    assert path(row) == ["pending", "dispatching", "fulfilled", "reversed"]


def test_the_schedules_look_up_finds_it_too(unknown, books, provider) -> None:
    provider.books[unknown.reference] = unknown.amount
    provider.give_back(unknown.reference)
    due(unknown)
    lookups.look_up_due()
    assert (now(unknown).state, books.told) == ("reversed", BOTH)


@pytest.mark.parametrize("said", [{"amount": 499}, {"currency": "EUR"}, {"amount": None}], ids=str)
def test_another_amount_is_a_persons_to_judge(paid, books, said: dict[str, object]) -> None:
    event(paid, Finding.REVERSED, **said)
    assert (now(paid).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert Case.objects.get().reason == "conflict"


def test_a_denial_after_success_is_no_reversal_and_undoes_nothing(
    paid, books, caplog, provider
) -> None:
    denied(paid, provider)
    assert (now(paid).state, books.told) == ("fulfilled", {"fulfilled": 1})
    case = Case.objects.get()
    assert case.reason == "conflict"
    assert "the provider says not done" in case.actions.get(action="opened").note
    alerts = [r for r in caplog.records if getattr(r, "action", "") == "verdict_contradicted"]
    assert [(r.levelname, r.reference) for r in alerts] == [("ERROR", paid.reference)]


def test_books_that_refuse_a_reversal_leave_it_to_a_person_and_to_the_next_look(
    paid, books, provider
) -> None:
    books.refuses = ValueError("the account is closed")
    event(paid, Finding.REVERSED)
    assert now(paid).state == "fulfilled"
    assert Case.objects.get().reason == "handler_failed"
    books.refuses = None
    provider.give_back(paid.reference)
    lookups.ask(paid.pk, actor=staff("agent", "ask_provider"))
    assert (now(paid).state, books.told) == ("reversed", BOTH)
    assert Case.objects.get().closed_at is not None


def test_a_refusal_of_both_at_once_undoes_both(unknown, books) -> None:
    books.refuses_outcome = "reversed"
    event(unknown, Finding.REVERSED)
    assert now(unknown).state == "needs_reconciliation"
    assert Case.objects.get().reason == "handler_failed"
