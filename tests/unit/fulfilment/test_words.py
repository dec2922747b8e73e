"""The pure words are the stored words, and the names at the provider are what we published."""

import hashlib
from datetime import timedelta

import pytest

from fulfilment import models
from fulfilment.connectors.base import (
    Accepted,
    Capabilities,
    Declined,
    Dedupe,
    Done,
    NoInformation,
    NotFound,
    NotSent,
    Refused,
    Reversed,
    Unknown,
)
from fulfilment.reconcile import evidence, people, schedule
from fulfilment.states import MOVES, OPEN, State, may_move, reference_of


def test_findings_and_sources_are_stored_under_the_words_the_policy_uses() -> None:
    assert {f.value for f in evidence.Finding} == set(models.Finding.values)
    assert {s.value for s in evidence.Source} == set(models.Source.values)


@pytest.mark.parametrize("case", ["crashes", "cannot_ask", "not_found", "deadline"])
def test_the_policys_reasons_are_reasons_of_a_case(case: str) -> None:
    assert case in models.CaseReason.values


def test_the_reference_is_the_published_formula_and_names_the_generation() -> None:
    first = reference_of("transfer:abc", connector="sandbox", generation=1)
    assert first == hashlib.sha256(b"transfer:abc\nsandbox\n1").hexdigest()[:32]
    assert first != reference_of("transfer:abc", connector="sandbox", generation=2)


def test_there_is_no_way_from_dispatching_to_failed() -> None:
    ways = {after for before, after in MOVES if before is State.DISPATCHING}
    assert ways == {State.FULFILLED, State.NEEDS_RECONCILIATION}
    assert not may_move(State.DISPATCHING, State.FAILED)
    assert all(state.is_open == (state in OPEN) for state in State)


@pytest.mark.parametrize(
    ("answer", "finding", "conclusive"),
    [
        (Done(amount=1, currency="NGN"), "done", True),
        (Reversed(amount=1, currency="NGN"), "reversed", True),
        (Declined(reason="closed account"), "not_done", True),
        (NotSent(reason="ConnectError"), "not_sent", False),
        (Refused(reason="rate limit"), "refused", False),
        (Accepted(status="otp"), "accepted", False),
        (Unknown(reason="time-out"), "unknown", False),
        (NotFound(), "not_found", False),
        (NoInformation(reason="503"), "no_information", False),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | bool) else "",
)
def test_each_answer_has_one_meaning(answer, finding: str, conclusive: bool) -> None:
    said = evidence.statement_of(answer)
    assert (said.finding.value, said.conclusive) == (finding, conclusive)


def test_a_persons_verdicts_are_states() -> None:
    assert set(people.RESOLVE) == {State.FULFILLED, State.FAILED}


def test_the_schedule_repeats_its_last_distance_for_ever() -> None:
    days = [timedelta(days=1), timedelta(days=2)]
    assert [schedule.distance(days, position=p) for p in (0, 1, 2, 900)] == [
        days[0],
        days[1],
        days[1],
        days[1],
    ]
    assert schedule.distance(days, position=0, jitter=-0.25) == timedelta(hours=18)


def test_the_back_off_doubles_up_to_its_end() -> None:
    first, last = timedelta(seconds=5), timedelta(minutes=10)
    waits = [schedule.backoff(n, first=first, last=last) for n in (1, 2, 3, 8, 10_000)]
    assert waits == [first, 2 * first, 4 * first, last, last]


def test_a_window_without_its_length_is_refused() -> None:
    with pytest.raises(ValueError, match="dedupe_window"):
        Capabilities(dedupe=Dedupe.KEY_WINDOW)
