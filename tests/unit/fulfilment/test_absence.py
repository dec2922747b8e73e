"""When "not found" is a fact: each condition alone keeps it from being one."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fulfilment.reconcile import absence
from fulfilment.reconcile.evidence import Finding
from tests.unit.fulfilment.build import (
    DEADLINE,
    FINAL,
    FOREVER,
    MARGIN,
    NOW,
    VISIBLE,
    absent,
    attempt,
    fact,
    minutes,
    situation,
)

CALL = DEADLINE + MARGIN
SENT = attempt(ago=minutes(90))
AGREEING = absent(minutes(20), minutes(10), minutes(1))


def test_three_agreeing_answers_after_the_settling_time_are_a_fact() -> None:
    assert absence.is_fact(situation(*AGREEING, tries=(SENT,)))


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (AGREEING[1:], "only two answers"),
        (absent(minutes(20), minutes(1.5), minutes(1)), "the last two are one lagging replica's"),
        (absent(minutes(88), minutes(80), minutes(70)), "asked before the settling time was over"),
        ((), "nobody asked"),
        (tuple(replace(f, canary=False) for f in AGREEING), "no known reference was found either"),
        ((*AGREEING[:2], replace(AGREEING[2], canary=False)), "the last run had no canary"),
        (
            (*AGREEING[:2], fact(Finding.NO_INFORMATION, ago=minutes(0.5))),
            "no information is no answer",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_is_no_fact_when(facts, why) -> None:
    assert not absence.is_fact(situation(*facts, tries=(SENT,))), f"taken for a fact although {why}"


def test_no_information_in_between_does_not_break_the_agreement() -> None:
    silent = fact(Finding.NO_INFORMATION, ago=minutes(5))
    facts = (*AGREEING[:2], silent, AGREEING[2])
    assert absence.is_fact(situation(*facts, tries=(SENT,)))


def test_an_answer_from_before_the_sending_says_nothing_about_it() -> None:
    facts = absent(minutes(95), minutes(10), minutes(1))
    assert not absence.is_fact(situation(*facts, tries=(SENT,)))


def test_an_attempt_that_is_not_fenced_can_still_arrive() -> None:
    quick = replace(FOREVER, not_found_final_after=timedelta(0), visible_after=timedelta(0))
    unfenced = attempt(ago=timedelta(seconds=40))
    facts = absent(*(timedelta(seconds=s) for s in (15, 10, 5)))
    assert not absence.is_fact(situation(*facts, tries=(unfenced,), capabilities=quick))


def test_the_settling_time_is_the_longest_of_the_three() -> None:
    for capabilities, settling in (
        (FOREVER, FINAL),
        (replace(FOREVER, not_found_final_after=timedelta(0)), VISIBLE),
        (
            replace(FOREVER, not_found_final_after=timedelta(0), visible_after=timedelta(0)),
            timedelta(seconds=20),
        ),
    ):
        seen = situation(tries=(SENT,), capabilities=capabilities)
        assert absence.settling_ends_at(seen) == SENT.lease_until - CALL + settling


def test_after_a_restored_backup_the_settling_time_begins_with_the_restore() -> None:
    """It can have been sent at any moment of the lost days, also at the last."""
    restored = attempt(ago=minutes(300), sent_at=None, maybe_sent=True)
    late = replace(restored, closed_at=NOW - minutes(30), lease_until=NOW - minutes(29))
    assert not absence.is_fact(situation(*AGREEING, tries=(late,)))
    early = replace(restored, closed_at=NOW - minutes(90), lease_until=NOW - minutes(89))
    assert absence.is_fact(situation(*AGREEING, tries=(early,)))


def test_the_settling_time_of_a_paused_worker_begins_with_its_last_chance_to_call() -> None:
    """It calls as long as its lease covers the call, and what it sends then needs its time too."""
    quick = replace(FOREVER, not_found_final_after=timedelta(minutes=1), visible_after=timedelta(0))
    lost = attempt(ago=timedelta(minutes=2))
    early = absent(*(timedelta(seconds=s) for s in (58, 57, 56)))
    assert not absence.is_fact(situation(*early, tries=(lost,), capabilities=quick)), (
        "a call that began at the end of its lease was not final yet"
    )
    late = absent(*(timedelta(seconds=s) for s in (46, 45, 44)))
    assert absence.is_fact(situation(*late, tries=(lost,), capabilities=quick))


def test_a_worker_that_came_back_began_its_call_before() -> None:
    quick = replace(FOREVER, not_found_final_after=timedelta(minutes=1), visible_after=timedelta(0))
    back = attempt(ago=timedelta(minutes=2), answers=frozenset({Finding.UNKNOWN}))
    seen = situation(tries=(back,), capabilities=quick)
    assert absence.settling_ends_at(seen) == back.claimed_at + DEADLINE + timedelta(minutes=1)


def test_a_worker_that_came_back_while_a_backup_was_restored_is_believed_no_earlier_moment() -> (
    None
):
    """Its attempt was closed over its head, before it called."""
    back = attempt(ago=minutes(90), maybe_sent=True, answers=frozenset({Finding.UNKNOWN}))
    seen = situation(tries=(back,))
    assert absence.settling_ends_at(seen) == back.lease_until - CALL + FINAL


def test_an_answer_is_as_old_as_its_question() -> None:
    """Who asked was stopped before the answer was on record, and meanwhile it arrived."""
    asked_early = replace(AGREEING[2], asked_at=NOW - minutes(80))
    assert not absence.is_fact(situation(*AGREEING[:2], asked_early, tries=(SENT,)))
    before_it_was_sent = replace(AGREEING[0], asked_at=NOW - minutes(95))
    assert not absence.is_fact(situation(before_it_was_sent, *AGREEING[1:], tries=(SENT,)))
