"""A worker that is killed before and after everything that it says to anybody (recorded).

Of a run that is left alone each statement, commit, request and answer is numbered; then one worker
dies at each number, on a row of its own. What is right afterwards is what the provider's own books
say: at most one effect, the state that belongs to it, books that balance.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from fulfilment import store
from fulfilment.models import Fulfilment
from tests import invariants
from tests.concurrency.killed.stage import Stage, first_in_line
from tests.concurrency.killed.wire import Said, Strike
from tests.connectors.sandbox import until
from tests.integration.fulfilment.support import held, now, staff

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.processes,
    pytest.mark.timeout(300),
]

UNTOUCHED = "it was to die at {0}, and lived: is everything that it says on the wire?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is struck: which work, on which rows, and what they become in the end."""

    work: str
    rows: Callable[[int], Iterable[Fulfilment]]  # so many, each made as it is needed or before
    subject: Callable[[Fulfilment], tuple[Any, ...]]
    ends: str
    least: int  # things that are said; fewer, and the recorder is not in between


def struck_everywhere(stage: Stage, play: Play, *, every: int = 1) -> dict[int, str]:
    """Kill a worker at each `every`-th thing that is said. Rows, and where their workers died."""
    recorded = _recorded(stage, play)
    strikes = list(_strikes(recorded, every=every))
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


def _strikes(recorded: list[Said], *, every: int) -> Iterable[Strike]:
    """Each as it is said, so before it and after the last; a request also half-way through."""
    for number in range(1, len(recorded) + 1, every):
        yield Strike(number=number)
    for number, said in enumerate(recorded, 1):
        if said.to == "provider" and said.by_worker and said.words:
            yield Strike(number=number, half=True)


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
    return Play(
        work="dispatch",
        rows=lambda n: (stage.ordered(narration) for _ in range(n)),
        subject=lambda row: (row.pk,),
        ends=ends,
        least=100,
    )


def test_a_worker_killed_at_many_points_of_a_payment_pays_once(stage: Stage) -> None:
    play = dispatching(stage)
    died = struck_everywhere(stage, play, every=9)
    stage.decided()
    assert_right(stage, play, died)


@pytest.mark.long
@pytest.mark.parametrize(
    ("narration", "ends"), [("", "fulfilled"), ("sandbox:decline", "failed")], ids=["done", "declined"]
)
def test_a_worker_killed_anywhere_in_a_payment(stage: Stage, narration: str, ends: str) -> None:
    stage.sent()  # the reference that proves that others are not there
    play = dispatching(stage, narration=narration, ends=ends)
    died = struck_everywhere(stage, play)
    stage.decided()
    assert_right(stage, play, died)
