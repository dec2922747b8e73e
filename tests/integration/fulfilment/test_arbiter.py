"""A report that contradicts what is done goes to the provider itself before it goes to a person."""

from typing import Any

import pytest

from fulfilment import store
from fulfilment.dispatch import attempt
from fulfilment.models import Case, Fulfilment
from fulfilment.reconcile import lookups
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.record import record
from fulfilment.reconcile.resolve import resolve
from tests.integration.fulfilment.support import event, now, start

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def paid(provider) -> Fulfilment:
    row = start()
    attempt.run(row.pk)
    provider.questions.clear()
    return now(row)


def reported(row: Fulfilment, source: Source) -> None:
    said = record(row, Statement(finding=Finding.NOT_DONE), source=source, actor="provider:memory")
    resolve(row.pk, news=[said.pk])


@pytest.mark.parametrize("source", [Source.WEBHOOK, Source.STATEMENT])
def test_a_denial_is_asked_about_once_and_overruled_by_what_is_true(
    paid, provider, books, source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    reported(paid, source)
    assert (now(paid).state, Case.objects.count()) == ("fulfilled", 0)
    for _ in range(3):
        lookups.look_up_due()
    assert provider.questions == [paid.reference], "asked more often than it takes, or never"
    assert (now(paid).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert not Case.objects.exists(), "a person has to look at what the provider took back"
    contested = [getattr(r, "action", "") for r in caplog.records]
    assert "verdict_contested" in contested


def test_the_question_survives_a_dead_worker(paid, provider) -> None:
    """It stands in the row, committed with the judgement that wants it."""
    event(paid, Finding.NOT_DONE)
    assert now(paid).recheck_at <= store.now()


def test_a_denial_that_the_provider_confirms_is_a_case(paid, provider, books) -> None:
    del provider.books[paid.reference]
    event(paid, Finding.NOT_DONE)
    said = Statement(finding=Finding.NOT_DONE)
    answered = record(paid, said, source=Source.LOOKUP, actor="resolver")
    resolve(paid.pk, news=[answered.pk])
    assert (now(paid).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert Case.objects.get().reason == "conflict"


def test_a_denial_of_what_was_given_back_since_is_a_reversal(paid, provider, books) -> None:
    event(paid, Finding.NOT_DONE)
    provider.give_back(paid.reference)
    lookups.look_up_due()
    assert (now(paid).state, books.told) == ("reversed", {"fulfilled": 1, "reversed": 1})
    assert not Case.objects.exists()


def test_without_an_answer_a_person_is_asked_and_the_checks_go_on(paid, provider, books) -> None:
    provider.can_be_asked = False
    event(paid, Finding.NOT_DONE)
    lookups.look_up_due()
    case = Case.objects.get()
    assert case.reason == "conflict"
    assert now(paid).recheck_at is not None, "nobody will ever ask again while the case is open"


def test_where_nobody_can_be_asked_a_person_is_at_once(paid, provider) -> None:
    provider.promises(lookup_by_reference=False)
    event(paid, Finding.NOT_DONE)
    assert Case.objects.get().reason == "conflict"


def test_a_success_reported_after_a_failure_goes_to_a_person_without_a_question(
    provider, books, caplog: pytest.LogCaptureFixture
) -> None:
    provider.will.extend(["decline"])
    row = start()
    attempt.run(row.pk)
    event(row, Finding.DONE)
    assert (now(row).state, books.told) == ("failed", {"failed": 1})
    assert Case.objects.get().reason == "conflict"
    assert "verdict_contradicted" in [getattr(r, "action", "") for r in caplog.records]


def test_a_denial_of_what_was_reversed_changes_nothing_once_the_provider_was_asked(
    paid, provider, books
) -> None:
    provider.give_back(paid.reference)
    event(paid, Finding.REVERSED)
    event(paid, Finding.NOT_DONE)
    lookups.look_up_due()
    assert (now(paid).state, Case.objects.count()) == ("reversed", 0)
    assert books.told == {"fulfilled": 1, "reversed": 1}


def test_reversed_before_done_is_posted_and_given_back(provider: Any, books) -> None:
    """The events come in the wrong order; the books show both."""
    provider.will.extend(["lose_answer"])
    row = start()
    attempt.run(row.pk)
    provider.give_back(row.reference)
    event(row, Finding.REVERSED)
    event(row, Finding.DONE)
    assert (now(row).state, books.told) == ("reversed", {"fulfilled": 1, "reversed": 1})
    assert not Case.objects.exists()


def test_a_denial_that_comes_while_the_provider_is_being_asked_is_asked_about_too(
    paid, provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer is of before: it overrules nothing, and the next question is not put off."""
    answer = provider.look_up

    def meanwhile(reference: str) -> Any:
        monkeypatch.undo()
        said = answer(reference)
        event(paid, Finding.NOT_DONE)
        return said

    event(paid, Finding.NOT_DONE)
    monkeypatch.setattr(provider, "look_up", meanwhile)
    lookups.look_up_due()
    assert provider.questions == [paid.reference] * 2, "the second denial waits for nobody"
    assert (now(paid).state, Case.objects.count()) == ("fulfilled", 0)
    assert now(paid).recheck_at is None


def test_several_denials_are_one_question(paid, provider) -> None:
    for _ in range(3):
        event(paid, Finding.NOT_DONE)
    lookups.look_up_due()
    assert provider.questions == [paid.reference]
    assert (now(paid).state, Case.objects.count()) == ("fulfilled", 0)


def test_a_denial_that_came_during_the_call_contradicts_its_answer(provider, books) -> None:
    """No verdict stood yet, so there is nothing that a question could uphold: a person is asked."""
    row = start()

    def denied_meanwhile(instruction: Any) -> Any:
        provider.books[row.reference] = 500
        event(row, Finding.NOT_DONE)
        assert now(row).state == "dispatching", "evidence moved a row that a worker has in hand"
        return provider.done(row.reference)

    provider.will.append(denied_meanwhile)
    attempt.run(row.pk)
    assert (now(row).state, books.told) == ("needs_reconciliation", {})
    assert Case.objects.get().reason == "conflict"
