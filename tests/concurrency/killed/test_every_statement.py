"""A worker that is killed before and after everything that it says to anybody (recorded).

Of a run that is left alone each statement, commit, request and answer is numbered; then one worker
dies at each number, on a row of its own. What is right afterwards is what the provider's own books
say: at most one effect, the state that belongs to it, books that balance.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest

from fulfilment.models import CaseAction, Fulfilment, ProviderEvent
from fulfilment.reconcile import lookups
from tests import invariants
from tests.concurrency.killed import works
from tests.concurrency.killed.stage import Stage, first_in_line, lost_for_good
from tests.concurrency.killed.wire import Said, Strike
from tests.integration.fulfilment.support import held, now, staff
from tests.integration.webhooks.support import about, deliver, stored

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.processes,
    pytest.mark.timeout(300),
]

Where = Callable[[int, Said], bool]
UNTOUCHED = "it was to die at {0}, and lived: is everything that it says on the wire?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is struck: which work, on which rows, and what they become in the end."""

    work: str
    rows: Callable[[int], Iterable[Fulfilment]]  # so many, each made as it is needed or before
    subject: Callable[[Fulfilment], tuple[Any, ...]]
    ends: str
    least: int  # things that are said; fewer, and the recorder is not in between


def struck(stage: Stage, play: Play, where: Where) -> dict[int, str]:
    """Kill a worker at each of the things that are said. Rows, and where their workers died."""
    recorded = _recorded(stage, play)
    strikes = list(_strikes(recorded, where))
    died: dict[int, str] = {}
    rows = iter(play.rows(len(strikes) + 1))
    for strike in strikes:
        row, said = next(rows), recorded[strike.number - 1]
        code, wire = stage.worked(play.work, *play.subject(row), strike=strike)
        at = f"{'half of ' if strike.half else ''}{strike.number}: {said}"
        assert (code, len(wire.heard)) == (-9, strike.number), UNTOUCHED.format(at)
        assert (wire.heard[-1].to, wire.heard[-1].by_worker) == (said.to, said.by_worker), at
        died[row.pk] = at
    beyond = Strike(number=len(recorded) + 1)
    code, wire = stage.worked(play.work, *play.subject(next(rows)), strike=beyond)
    assert (code, len(wire.heard)) == (0, len(recorded)), "the runs are not the same"
    return died


def _recorded(stage: Stage, play: Play) -> list[Said]:
    """The second of two runs that are left alone: the first one opens the bank's own accounts."""
    for row in play.rows(2):
        code, wire = stage.worked(play.work, *play.subject(row))
        assert code == 0
    assert len(wire.heard) >= play.least, f"only {len(wire.heard)} things were recorded"
    return wire.heard


def _strikes(recorded: list[Said], where: Where) -> Iterable[Strike]:
    """As a thing is said: it is not said. As it is heard: it has happened, and nobody knows.

    A request is also cut in half.
    """
    for number, said in enumerate(recorded, 1):
        if where(number, said):
            yield Strike(number=number)
        if said.to == "provider" and said.by_worker and said.words:
            yield Strike(number=number, half=True)


def everywhere(number: int, said: Said) -> bool:
    """Before and after each."""
    return True


def between(number: int, said: Said) -> bool:
    """After each, which is before the next."""
    return not said.by_worker


def here_and_there(number: int, said: Said) -> bool:
    """For those who wait for the result."""
    return number % 16 == 0


def assert_right(stage: Stage, play: Play, died: dict[int, str]) -> None:
    """Every row is what it should be, by the provider's books; and so is everything else."""
    effects = invariants.sandbox_books(stage.provider)
    wrong = {
        at: (row.state, effects.left[row.reference])
        for row in Fulfilment.objects.filter(pk__in=died)
        if (row.state, effects.left[row.reference]) != (play.ends, play.ends != "failed")
        for at in [died[row.pk]]
    }
    assert not wrong, f"killed at these, it is (state, effects) and not {play.ends}: {wrong}"
    invariants.hold(effects)


def dispatching(stage: Stage, *, narration: str = "", ends: str = "fulfilled") -> Play:
    """A worker that has a new transfer sent."""
    return Play(
        work="dispatch",
        rows=lambda n: (stage.ordered(narration) for _ in range(n)),
        subject=lambda row: (row.pk,),
        ends=ends,
        least=100,
    )


def asking(stage: Stage) -> Play:
    """A round of look-ups that finds what was paid, and whose answer was lost."""
    hours = count(1)
    return Play(
        work="look_up",
        rows=lambda n: (
            first_in_line(stage.sent("sandbox:accept_then_reset"), hours=next(hours))
            for _ in range(n)
        ),
        subject=lambda _: (),
        ends="fulfilled",
        least=60,
    )


def missing(stage: Stage) -> Play:
    """A round of look-ups whose third answer makes it a fact that nothing arrived."""
    hours = count(1)

    def rows(n: int) -> Iterable[Fulfilment]:
        lost = lost_for_good(stage, n)
        for row in lost:
            for _ in range(2):
                evidence = lookups.query(now(row), actor="resolver")
                assert evidence
        return (first_in_line(row, hours=next(hours)) for row in lost)

    return Play(work="look_up", rows=rows, subject=lambda _: (), ends="fulfilled", least=60)


def sweeping(stage: Stage, *, marked: bool) -> Play:
    """A sweep that takes a row back from a worker that died behind its mark, or before it."""
    hours = count(1)

    def lost() -> Fulfilment:
        row = stage.ordered()
        held(row, sent=marked)
        return first_in_line(row, hours=next(hours))

    return Play(
        work="sweep",
        rows=lambda n: (lost() for _ in range(n)),
        subject=lambda _: (),
        ends="fulfilled",
        least=30,
    )


def told(stage: Stage, kind: str, *, narration: str, ends: str) -> Play:
    """A worker that applies an event of the provider about what was sent."""

    def event(row: Fulfilment) -> tuple[int]:
        body = about(row, kind)
        assert deliver(body, address="/v1/webhooks/sandbox").status_code == 200
        return (stored(body).pk,)

    return Play(
        work="apply",
        rows=lambda n: (stage.sent(narration) for _ in range(n)),
        subject=event,
        ends=ends,
        least=60,
    )


@pytest.mark.parametrize(
    "where", [pytest.param(everywhere, marks=pytest.mark.long), here_and_there]
)
def test_a_worker_killed_anywhere_in_a_payment_pays_once(stage: Stage, where: Where) -> None:
    stage.sent()  # the reference that proves that others are not there
    struck_and_right(stage, dispatching(stage), where)


@pytest.mark.long
def test_a_worker_killed_anywhere_as_it_is_declined_gives_the_money_back(stage: Stage) -> None:
    stage.sent()
    struck_and_right(stage, dispatching(stage, narration="sandbox:decline", ends="failed"))


@pytest.mark.long
def test_a_round_killed_anywhere_as_it_finds_a_lost_answer_pays_once(stage: Stage) -> None:
    struck_and_right(stage, asking(stage))


@pytest.mark.long
def test_a_round_killed_anywhere_as_it_learns_that_nothing_arrived_sends_it_once(
    stage: Stage,
) -> None:
    stage.sent()
    struck_and_right(stage, missing(stage))


@pytest.mark.long
@pytest.mark.parametrize("marked", [True, False])
def test_a_sweep_killed_anywhere_leaves_the_row_to_the_next(stage: Stage, marked: bool) -> None:
    stage.sent()
    struck_and_right(stage, sweeping(stage, marked=marked))


@pytest.mark.long
def test_a_worker_killed_anywhere_as_it_applies_an_event_applies_it_once(stage: Stage) -> None:
    play = told(
        stage, "transfer.succeeded", narration="sandbox:accept_then_reset", ends="fulfilled"
    )
    struck_and_right(stage, play)
    assert not ProviderEvent.objects.exclude(status="applied"), "an event was forgotten"


@pytest.mark.long
def test_a_worker_killed_anywhere_in_a_reversal_gives_the_money_back_once(stage: Stage) -> None:
    play = told(stage, "transfer.reversed", narration="sandbox:reversed_later(0)", ends="reversed")
    struck_and_right(stage, play)


@pytest.mark.long
def test_a_person_whose_process_is_killed_anywhere_decides_once(stage: Stage) -> None:
    """They send the same form again, as they saw it; the other's verdict is the same one."""
    stage.sent()
    amy = staff("amy", "resolve_failed")
    play = Play(
        work="decide",
        rows=lambda n: lost_for_good(stage, n),
        subject=lambda row: (row.pk, amy.username, "failed", now(row).version),
        ends="failed",
        least=100,
    )
    seen: dict[int, int] = {}

    def remembered(row: Fulfilment) -> tuple[Any, ...]:
        seen[row.pk] = now(row).version
        return play.subject(row)

    died = struck(stage, replace(play, subject=remembered), between)
    for pk in died:
        assert works.decide(pk, "amy", "failed", seen[pk]) == "failed"
    assert_right(stage, play, died)
    words = CaseAction.objects.filter(action="resolved")
    assert words.count() == Fulfilment.objects.filter(state="failed").count(), "a word came twice"


def struck_and_right(stage: Stage, play: Play, where: Where = between) -> None:
    died = struck(stage, play, where)
    stage.decided()
    assert_right(stage, play, died)
