"""A worker that is killed before and after everything that it says to anybody (recorded).

Of a run that is left alone each statement, commit, request and answer is numbered; then one worker
dies at each number, on a row of its own. What is right afterwards is what the provider's own books
say: at most one effect, the state that belongs to it, books that balance.
"""

from typing import Any

import pytest

from fulfilment.models import CaseAction, Fulfilment, ProviderEvent
from tests.concurrency.killed import works
from tests.concurrency.killed.plays import Play, asking, dispatching, missing, sweeping, told
from tests.concurrency.killed.stage import Stage, lost_for_good
from tests.concurrency.killed.striking import (
    Where,
    assert_asked_first,
    assert_right,
    between,
    everywhere,
    here_and_there,
    struck,
)
from tests.integration.fulfilment.support import now, staff

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.processes,
    pytest.mark.timeout(300),
]


def struck_and_right(stage: Stage, play: Play, where: Where = between) -> None:
    died = struck(stage, play, where)
    stage.decided()
    assert_right(stage, play, died)
    assert_asked_first(stage, died)


@pytest.mark.parametrize(
    "where", [pytest.param(everywhere, marks=pytest.mark.chaos), here_and_there]
)
def test_a_worker_killed_anywhere_in_a_payment_pays_once(stage: Stage, where: Where) -> None:
    stage.sent()  # the reference that proves that others are not there
    struck_and_right(stage, dispatching(stage), where)


@pytest.mark.chaos
def test_a_worker_killed_anywhere_as_it_is_declined_gives_the_money_back(stage: Stage) -> None:
    stage.sent()
    struck_and_right(stage, dispatching(stage, narration="sandbox:decline", ends="failed"))


@pytest.mark.chaos
def test_a_round_killed_anywhere_as_it_finds_a_lost_answer_pays_once(stage: Stage) -> None:
    struck_and_right(stage, asking(stage))


@pytest.mark.chaos
def test_a_round_killed_anywhere_as_it_learns_that_nothing_arrived_sends_it_once(
    stage: Stage,
) -> None:
    stage.sent()
    struck_and_right(stage, missing(stage))


@pytest.mark.chaos
@pytest.mark.parametrize("marked", [True, False])
def test_a_sweep_killed_anywhere_leaves_the_row_to_the_next(stage: Stage, marked: bool) -> None:
    stage.sent()
    struck_and_right(stage, sweeping(stage, marked=marked))


@pytest.mark.chaos
def test_a_worker_killed_anywhere_as_it_applies_an_event_applies_it_once(stage: Stage) -> None:
    play = told(
        stage, "transfer.succeeded", narration="sandbox:accept_then_reset", ends="fulfilled"
    )
    struck_and_right(stage, play)
    assert not ProviderEvent.objects.exclude(status="applied"), "an event was forgotten"


@pytest.mark.chaos
def test_a_worker_killed_anywhere_in_a_reversal_gives_the_money_back_once(stage: Stage) -> None:
    play = told(stage, "transfer.reversed", narration="sandbox:reversed_later(0)", ends="reversed")
    struck_and_right(stage, play)


@pytest.mark.chaos
@pytest.mark.parametrize("verdict", ["failed", "send_again"])
def test_a_person_whose_process_is_killed_anywhere_decides_once(stage: Stage, verdict: str) -> None:
    """They send the same form again, as they saw it."""
    stage.sent()
    amy = staff("amy", "resolve_failed", "send_again")
    seen: dict[int, int] = {}

    def form(row: Fulfilment) -> tuple[Any, ...]:
        seen[row.pk] = now(row).version
        return (row.pk, amy.username, verdict, seen[row.pk])

    play = Play(
        work="decide",
        rows=lambda n: lost_for_good(stage, n),
        subject=form,
        ends="failed",
        least=100,
    )
    died = struck(stage, play, between)
    for pk in died:
        assert works.decide(pk, amy.username, verdict, seen[pk]) == "failed"
    assert_right(stage, play, died)
    decided = Fulfilment.objects.filter(state="failed").count()
    said = CaseAction.objects.filter(verdict=verdict).count()
    assert said == decided, f"{decided} rows are decided, and {said} times somebody decided"
    opened = Fulfilment.objects.filter(generation=2).count()
    assert opened == (decided if verdict == "send_again" else 0), "opened twice, or never"
