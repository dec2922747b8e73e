"""What the policy makes of what is on record. Pure: no database, no clock."""

from datetime import timedelta

import pytest

from fulfilment.reconcile import policy
from fulfilment.reconcile.evidence import Finding, Source
from fulfilment.reconcile.verdicts import (
    Conflict,
    Fail,
    Fulfil,
    OpenCase,
    Pace,
    Requeue,
    Wait,
)
from tests.unit.fulfilment.build import (
    BLIND,
    CACHED_ERRORS,
    FENCE,
    LEASE,
    NO_DEDUPE,
    WINDOW,
    absent,
    attempt,
    fact,
    minutes,
    situation,
)

OLD = attempt(ago=minutes(90))
FRESH = attempt(ago=timedelta(seconds=20))
LONG_ABSENT = absent(minutes(20), minutes(10), minutes(1))


def test_done_with_our_amount_fulfils_even_while_an_attempt_is_unfenced() -> None:
    verdict = policy.decide(situation(fact(Finding.DONE, ago=minutes(0), id=7), tries=(FRESH,)))
    assert isinstance(verdict, Fulfil)
    assert verdict.fact == 7, "the verdict must name the evidence that it rests on"


@pytest.mark.parametrize("said", [{"amount": 499}, {"currency": "EUR"}, {"amount": None}], ids=str)
def test_done_with_another_amount_is_a_conflict_and_posts_nothing(said: dict[str, object]) -> None:
    verdict = policy.decide(situation(fact(Finding.DONE, ago=minutes(0), **said), tries=(OLD,)))
    assert isinstance(verdict, Conflict), f"posted on an answer that says {said}"


def test_done_and_not_done_is_a_conflict_whoever_said_it_last() -> None:
    done, not_done = fact(Finding.DONE, ago=minutes(5)), fact(Finding.NOT_DONE, ago=minutes(1))
    for order in ((done, not_done), (not_done, done)):
        assert isinstance(policy.decide(situation(*order, tries=(OLD,))), Conflict)


def test_two_payments_under_one_reference_are_a_conflict() -> None:
    twice = (
        fact(Finding.DONE, ago=minutes(5), provider_id="pay_1"),
        fact(Finding.DONE, ago=minutes(1), provider_id="pay_2"),
    )
    assert isinstance(policy.decide(situation(*twice, tries=(OLD,))), Conflict)


def test_not_done_fails_once_every_attempt_is_fenced() -> None:
    verdict = policy.decide(situation(fact(Finding.NOT_DONE, ago=minutes(1)), tries=(OLD,)))
    assert isinstance(verdict, Fail)


def test_not_done_waits_for_the_fence_of_a_call_that_never_answered() -> None:
    verdict = policy.decide(situation(fact(Finding.NOT_DONE, ago=minutes(0)), tries=(FRESH,)))
    assert isinstance(verdict, Wait), "a worker that wakes up could still pay after we said failed"
    assert verdict.until == FRESH.claimed_at + FENCE


def test_a_decline_that_the_call_itself_brought_needs_no_fence() -> None:
    answered = attempt(ago=timedelta(seconds=1), answers=frozenset({Finding.NOT_DONE}))
    declined = fact(Finding.NOT_DONE, ago=minutes(0), source=Source.RESPONSE, attempt=1)
    assert isinstance(policy.decide(situation(declined, tries=(answered,))), Fail)


def test_a_decline_of_the_second_attempt_waits_for_the_fence_of_the_first() -> None:
    second = attempt(2, ago=timedelta(seconds=1), answers=frozenset({Finding.NOT_DONE}))
    declined = fact(Finding.NOT_DONE, ago=minutes(0), source=Source.RESPONSE, attempt=2)
    assert isinstance(policy.decide(situation(declined, tries=(FRESH, second))), Wait)


@pytest.mark.parametrize("answer", [Finding.NOT_SENT, Finding.REFUSED])
def test_what_provably_began_nothing_goes_back_with_a_pause(answer: Finding) -> None:
    refused = attempt(ago=timedelta(seconds=1), answers=frozenset({answer}))
    verdict = policy.decide(situation(tries=(refused,)))
    assert verdict == Requeue(reason=verdict.reason, pace=Pace.BACK_OFF)


def test_a_crash_before_the_mark_goes_back_at_once() -> None:
    unsent = attempt(ago=minutes(1), sent_at=None)
    verdict = policy.decide(situation(tries=(unsent,), failed_starts=4))
    assert verdict == Requeue(reason=verdict.reason, pace=Pace.NOW)


def test_the_fifth_crash_before_the_mark_goes_to_a_person() -> None:
    unsent = attempt(ago=minutes(1), sent_at=None)
    verdict = policy.decide(situation(tries=(unsent,), failed_starts=5))
    assert isinstance(verdict, OpenCase), "a row that kills its worker would go round for ever"
    assert verdict.case == "crashes"


def test_the_fifth_worker_that_died_in_a_call_goes_to_a_person_although_nothing_is_found() -> None:
    """Sending the reference again is safe, and it has cost five workers."""
    lost = tuple(attempt(n, ago=minutes(100 - n)) for n in range(1, 6))
    found = absent(minutes(20), minutes(10), minutes(1))
    verdict = policy.decide(situation(*found, tries=lost))
    assert isinstance(verdict, OpenCase), (
        "it is sent again and again, and kills worker after worker"
    )
    assert verdict.case == "not_found"
    assert isinstance(policy.decide(situation(*found, tries=lost[:4])), Requeue)


def test_attempts_whose_worker_came_back_are_no_crashes() -> None:
    tries = tuple(
        attempt(n, ago=minutes(100 - n), answers=frozenset({Finding.UNKNOWN})) for n in range(1, 9)
    )
    found = absent(minutes(20), minutes(10), minutes(1))
    assert isinstance(policy.decide(situation(*found, tries=tries)), Requeue)


def test_an_attempt_that_may_have_been_sent_before_a_backup_counts_as_sent() -> None:
    restored = attempt(ago=minutes(5), sent_at=None, maybe_sent=True)
    assert isinstance(policy.decide(situation(tries=(restored,))), Wait)


def test_unknown_waits_and_becomes_a_case_at_the_deadline() -> None:
    young, old = attempt(ago=minutes(60 * 23)), attempt(ago=minutes(60 * 24))
    assert isinstance(policy.decide(situation(tries=(young,))), Wait)
    assert policy.decide(situation(tries=(old,))) == OpenCase(
        reason="nobody knows yet, and the deadline is over", case="deadline"
    )


def test_the_case_opens_while_sending_again_is_still_safe() -> None:
    sent = attempt(ago=minutes(1))
    due = policy.case_due_at(situation(tries=(sent,), capabilities=WINDOW))
    assert due == sent.claimed_at + timedelta(hours=24) * 0.8


def test_not_found_that_is_a_fact_sends_the_same_reference_again() -> None:
    verdict = policy.decide(situation(*LONG_ABSENT, tries=(OLD,)))
    assert verdict == Requeue(reason=verdict.reason, pace=Pace.NOW)


def test_not_found_never_fails_by_itself() -> None:
    for age in (1, 60, 60 * 24, 60 * 24 * 365):
        verdict = policy.decide(situation(*LONG_ABSENT, tries=(attempt(ago=minutes(age)),)))
        assert not isinstance(verdict, Fail), f"failed after {age} minutes because time passed"


@pytest.mark.parametrize("capabilities", [NO_DEDUPE, WINDOW], ids=["no dedupe", "window over"])
def test_not_found_goes_to_a_person_where_sending_again_could_pay_twice(capabilities) -> None:
    sent = attempt(ago=minutes(60 * 25))
    verdict = policy.decide(situation(*LONG_ABSENT, tries=(sent,), capabilities=capabilities))
    assert isinstance(verdict, OpenCase)
    assert verdict.case == "not_found"


def test_not_found_after_accepted_is_no_fact() -> None:
    accepted = fact(Finding.ACCEPTED, ago=minutes(90), source=Source.RESPONSE, attempt=1)
    verdict = policy.decide(situation(accepted, *LONG_ABSENT, tries=(OLD,)))
    assert isinstance(verdict, Wait), "the provider had it; sending it again would be a guess"


def test_a_second_sending_needs_three_new_answers() -> None:
    again = attempt(2, ago=minutes(30))
    assert isinstance(policy.decide(situation(*LONG_ABSENT, tries=(OLD, again))), Wait)


def test_a_refused_second_sending_goes_again_on_the_answers_about_the_first() -> None:
    again = attempt(2, ago=timedelta(seconds=5), answers=frozenset({Finding.NOT_SENT}))
    verdict = policy.decide(situation(*LONG_ABSENT, tries=(OLD, again)))
    assert verdict == Requeue(reason=verdict.reason, pace=Pace.BACK_OFF)


def test_a_provider_that_cannot_be_asked_gets_the_same_key_again_inside_its_window() -> None:
    verdict = policy.decide(situation(tries=(OLD,), capabilities=BLIND))
    assert isinstance(verdict, Requeue)
    assert verdict.pace is Pace.SCHEDULE
    assert verdict.case == "cannot_ask", "nobody was asked though no look-up will ever answer"


def test_the_same_key_is_not_sent_again_beside_a_call_that_may_be_under_way() -> None:
    verdict = policy.decide(situation(tries=(FRESH,), capabilities=BLIND))
    assert isinstance(verdict, OpenCase), "it was sent again, or a person was not asked at once"
    assert (verdict.case, verdict.until) == ("cannot_ask", FRESH.claimed_at + FENCE)


def test_cached_errors_and_a_closed_window_go_to_a_person_at_once() -> None:
    late = attempt(ago=minutes(60 * 25))
    for sent, capabilities in ((OLD, CACHED_ERRORS), (late, BLIND)):
        verdict = policy.decide(situation(tries=(sent,), capabilities=capabilities))
        assert isinstance(verdict, OpenCase)
        assert verdict.case == "cannot_ask"


def test_a_window_that_closes_before_a_paused_worker_must_have_called_is_closed() -> None:
    closing = attempt(ago=timedelta(hours=24) - LEASE)
    assert not policy.may_send(situation(tries=(closing,), capabilities=WINDOW)), (
        "a worker that pauses until the end of its lease calls when the reference is forgotten"
    )


def test_a_window_that_closes_during_the_call_is_closed() -> None:
    closing = attempt(ago=timedelta(hours=24, seconds=-14))
    assert not policy.may_send(situation(tries=(closing,), capabilities=WINDOW))
