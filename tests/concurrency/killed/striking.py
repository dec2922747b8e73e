"""Kills a worker at each of the things that it says, as recorded, and judges what became of its rows."""

from collections.abc import Callable, Iterable
from itertools import pairwise

from fulfilment.models import Fulfilment
from tests import invariants
from tests.concurrency.killed.plays import Play
from tests.concurrency.killed.stage import Stage
from tests.concurrency.killed.wire import Said, Strike

Where = Callable[[int, Said], bool]
LIVED = "it was to die at {0}, and lived or died elsewhere: is everything that it says on the wire?"
SPARE = 5  # rows: a worker that was kept waiting too long does something else, and is no witness


def struck(stage: Stage, play: Play, where: Where) -> dict[int, str]:
    """Kill one worker at each point. Rows, and at what their workers died."""
    left_alone = recorded(stage, play)
    points = list(strikes(left_alone, where))
    died: dict[int, str] = {}
    rows = iter(play.rows(len(points) + 1 + SPARE))
    for strike in points:
        said = left_alone[strike.number - 1]
        at = f"{'half of ' if strike.half else ''}{strike.number}: {said}"
        for row in rows:
            died[row.pk] = at
            code, wire = stage.worked(play.work, *play.subject(row), strike=strike)
            if code == -9 and wire.heard[-1].is_like(said):
                break
        else:
            raise AssertionError(LIVED.format(at))
    beyond = Strike(number=len(left_alone) + 1)
    code, wire = stage.worked(play.work, *play.subject(next(rows)), strike=beyond)
    assert (code, len(wire.heard)) == (0, len(left_alone)), "there was more to die at"
    assert len(points) <= len(died) <= len(points) + SPARE
    return died


def recorded(stage: Stage, play: Play) -> list[Said]:
    """The second of two runs that are left alone: the first one opens the bank's own accounts."""
    for row in play.rows(2):
        code, wire = stage.worked(play.work, *play.subject(row))
        assert code == 0
    assert len(wire.heard) >= play.least, f"only {len(wire.heard)} things were recorded"
    return wire.heard


def strikes(said: list[Said], where: Where) -> Iterable[Strike]:
    """As a thing is said: it is not said. As it is heard: it has happened, and nobody knows.

    A request is also cut in half.
    """
    for number, one in enumerate(said, 1):
        if where(number, one):
            yield Strike(number=number)
        if one.to == "provider" and one.by_worker and one.words:
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
    rows = Fulfilment.objects.filter(pk__in=died)
    wrong = {
        died[row.pk]: (row.state, effects.left[row.reference])
        for row in rows
        if (row.state, effects.left[row.reference]) != (play.ends, play.ends != "failed")
    }
    assert not wrong, f"struck at these, it is (state, effects) and not {play.ends}: {wrong}"
    invariants.hold(effects)


def assert_asked_first(stage: Stage, died: dict[int, str]) -> None:
    """Nobody sends a second time what may have arrived. (A worker that wakes up late may: its
    first word comes after the others' second one.)
    """
    blind = _sent_again_blindly(stage)
    rows = Fulfilment.objects.filter(pk__in=died)
    again = [died[row.pk] for row in rows if row.reference in blind]
    assert not again, f"sent a second time, and nobody had asked about the first: {again}"


def _sent_again_blindly(stage: Stage) -> set[str]:
    """References of which the provider heard two orders without a question in between."""
    heard: dict[str, list[str]] = {}
    for call in stage.provider.books()["calls"]:
        heard.setdefault(call["reference"], []).append(call["method"])
    return {
        reference for reference, methods in heard.items() if ("POST", "POST") in pairwise(methods)
    }
