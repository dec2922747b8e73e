"""What the policy makes of what is said after a verdict. Pure: no database, no clock."""

from datetime import timedelta

import pytest

from fulfilment.reconcile import policy
from fulfilment.reconcile.evidence import Finding, Source
from fulfilment.reconcile.verdicts import (
    Conflict,
    Fulfil,
    Reverse,
    Stand,
    Wait,
)
from fulfilment.states import State
from tests.unit.fulfilment.build import (
    NEVER_FINAL,
    NOW,
    absent,
    attempt,
    fact,
    minutes,
    situation,
)

OLD = attempt(ago=minutes(90))
FRESH = attempt(ago=timedelta(seconds=20))
LONG_ABSENT = absent(minutes(20), minutes(10), minutes(1))


@pytest.mark.parametrize(
    ("state", "finding"),
    [
        (State.FULFILLED, Finding.NOT_DONE),
        (State.FAILED, Finding.DONE),
        (State.FAILED, Finding.REVERSED),
        (State.CANCELLED, Finding.REVERSED),
        (State.CANCELLED, Finding.DONE),
        (State.REVERSED, Finding.NOT_DONE),
    ],
)
def test_a_later_contradiction_reaches_a_person_and_overwrites_nothing(state, finding) -> None:
    verdict = policy.decide(situation(fact(finding, ago=minutes(0)), tries=(OLD,), state=state))
    assert isinstance(verdict, Conflict)


@pytest.mark.parametrize(
    ("state", "finding"),
    [
        (State.FULFILLED, Finding.DONE),
        (State.FAILED, Finding.NOT_DONE),
        (State.REVERSED, Finding.REVERSED),
        (State.REVERSED, Finding.DONE),
    ],
)
def test_a_later_answer_that_agrees_changes_nothing(state, finding) -> None:
    said = fact(finding, ago=minutes(0))
    assert isinstance(policy.decide(situation(said, tries=(OLD,), state=state)), Stand)


def test_what_is_given_back_after_it_was_done_is_reversed() -> None:
    done, back = fact(Finding.DONE, ago=minutes(9)), fact(Finding.REVERSED, ago=minutes(0), id=8)
    for said in ((done, back), (back,)):
        verdict = policy.decide(situation(*said, tries=(OLD,), state=State.FULFILLED))
        assert isinstance(verdict, Reverse)
        assert verdict.fact == 8, "the verdict must name the evidence that it rests on"


def test_what_is_given_back_before_anybody_said_done_is_both() -> None:
    back = fact(Finding.REVERSED, ago=minutes(1), id=8)
    alone = policy.decide(situation(back, tries=(OLD,)))
    assert isinstance(alone, Fulfil)
    assert alone.then is not None
    assert (alone.fact, alone.then.fact) == (8, 8)
    done = fact(Finding.DONE, ago=minutes(0), id=9)
    both = policy.decide(situation(back, done, tries=(OLD,)))
    assert isinstance(both, Fulfil)
    assert both.then is not None
    assert (both.fact, both.then.fact) == (9, 8)


@pytest.mark.parametrize("said", [{"amount": 499}, {"currency": "EUR"}, {"amount": None}], ids=str)
@pytest.mark.parametrize("state", [State.FULFILLED, State.NEEDS_RECONCILIATION])
def test_another_amount_that_is_given_back_is_a_conflict(state, said: dict[str, object]) -> None:
    back = fact(Finding.REVERSED, ago=minutes(0), **said)
    assert isinstance(policy.decide(situation(back, tries=(OLD,), state=state)), Conflict)


def test_given_back_and_never_done_is_a_conflict() -> None:
    back, denied = fact(Finding.REVERSED, ago=minutes(5)), fact(Finding.NOT_DONE, ago=minutes(1))
    assert isinstance(policy.decide(situation(back, denied, tries=(OLD,))), Conflict)


def test_a_reversal_may_have_a_name_of_its_own_at_the_provider() -> None:
    done = fact(Finding.DONE, ago=minutes(5), provider_id="pay_1")
    back = fact(Finding.REVERSED, ago=minutes(1), provider_id="rev_1")
    assert isinstance(policy.decide(situation(done, back, tries=(OLD,))), Fulfil)


def test_what_a_person_has_judged_opens_no_second_case_but_news_does() -> None:
    denied = fact(Finding.NOT_DONE, ago=minutes(5), id=3)
    judged = situation(denied, tries=(OLD,), state=State.FULFILLED, judged_at=NOW)
    assert isinstance(policy.decide(judged), Stand)
    news = situation(
        denied, tries=(OLD,), state=State.FULFILLED, judged_at=NOW, news=frozenset({3})
    )
    assert isinstance(policy.decide(news), Conflict)


def test_a_persons_word_is_no_evidence_for_the_policy() -> None:
    word = fact(Finding.NOT_DONE, ago=minutes(1), source=Source.PERSON)
    assert isinstance(policy.decide(situation(word, tries=(OLD,))), Wait)


def test_absence_is_never_final_where_the_provider_does_not_say_so() -> None:
    verdict = policy.decide(situation(*LONG_ABSENT, tries=(OLD,), capabilities=NEVER_FINAL))
    assert isinstance(verdict, Wait)
