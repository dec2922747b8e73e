"""After an outage hundreds of rows are due at once, and their provider takes so many calls a second."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from fulfilment.models import Evidence, Fulfilment
from fulfilment.reconcile import lookups
from tests.concurrency.wave import stage
from tests.concurrency.wave.stage import FOUND, LOST
from tests.concurrency.wave.times import JITTER, NEXT, PER_SECOND, SILENT
from tests.connectors.sandbox import Sandbox
from tests.integration.fulfilment.support import now, staff

pytestmark = [pytest.mark.processes, pytest.mark.chaos, pytest.mark.timeout(400)]
SIZES = [
    pytest.param({"found": 30, "lost": 12, "beside": 5}, id="50"),
    pytest.param({"found": 450, "lost": 50, "beside": 40}, id="500"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """What was due, and what came of it."""

    rows: list[Fulfilment]  # of one provider, in the order in which they were due
    beside: list[Fulfilment]  # of another, due after all of those
    frozen: list[Fulfilment]  # of one that is dead, due before all of those
    asked: list[tuple[datetime, str]]  # by the provider's journal
    ticks: list[dict[str, Any]]

    def asked_of(self, rows: list[Fulfilment]) -> list[str]:
        """Each once: what was found is the canary of those that are not, and is asked about again."""
        ours = {row.reference for row in rows}
        return [*dict.fromkeys(reference for _, reference in self.asked if reference in ours)]


def looked_up(rows: list[Fulfilment]) -> int:
    seen = Evidence.objects.filter(source="lookup", fulfilment__in=[row.pk for row in rows])
    return seen.values("fulfilment").distinct().count()


def made(sandbox: Sandbox, dead: Sandbox, *, found: int, lost: int, beside: int) -> Wave:
    """Two workers, a person who asks until all is over, and more rows than fit into seconds."""
    with stage.workers(sandbox, dead, count=2) as workers:
        stage.known()
        rows = stage.mixed([*stage.lost(found, FOUND), *stage.lost(lost, LOST)])
        others = stage.lost(beside, FOUND, connector="beside")
        frozen = stage.lost(2 * SILENT, LOST, connector="frozen")
        (theirs,) = stage.lost(1, LOST)
        ada = staff("ada", "ask_provider")
        stage.all_due([*frozen, *rows, *others])
        with stage.frozen(dead):
            for worker in workers:
                worker.begin()
            every = [*rows, *others]
            while looked_up(every) < len(every):
                lookups.ask(theirs.pk, actor=ada)
            ticks = [tick for worker in workers for tick in worker.ended()]
    wave = {"rows": rows, "beside": others, "frozen": frozen, "ticks": ticks}
    return Wave(asked=stage.questions(sandbox), **wave)


@pytest.mark.parametrize("size", SIZES)
def test_a_wave_is_asked_within_the_budget_in_order_and_holds_up_nobody(
    sandbox: Sandbox, dead: Sandbox, size: dict[str, int]
) -> None:
    wave = made(sandbox, dead, **size)
    in_budget(wave, beside=wave.beside)
    in_order(wave)
    one_round_at_a_time(wave)
    nobody_starves(wave)
    the_dead_are_left_alone(wave)
    spread(wave)


def in_budget(wave: Wave, *, beside: list[Fulfilment]) -> None:
    """Turns are a fixed distance apart, so a second has room for exactly the budget.

    A call is never before its turn. It may be late, and each of the two who ask (the round, the
    person) may have one such call, of a turn before the window, in it.
    """
    others = {row.reference for row in beside}
    most = stage.most_in_a_second([at for at, reference in wave.asked if reference not in others])
    assert most <= PER_SECOND + 2, (
        f"{most} questions within one second, {PER_SECOND} allowed: the budget is not one for the"
        " round, its canaries and the person together"
    )


def in_order(wave: Wave) -> None:
    asked, due = wave.asked_of(wave.rows), [row.reference for row in wave.rows]
    assert sorted(asked) == sorted(due), "a row was never asked about"
    said = Evidence.objects.filter(source="lookup", fulfilment__in=[r.pk for r in wave.rows])
    assert said.count() == len(wave.rows), "two rounds asked about one row"
    first = next((i for i, pair in enumerate(zip(asked, due, strict=True)) if len({*pair}) > 1), 0)
    assert asked == due, f"question {first} was not about the row that was due longest"


def one_round_at_a_time(wave: Wave) -> None:
    rounds = [tick for tick in wave.ticks if tick["asked"]]
    together, whole = stage.at_work_together(rounds), sum(t["ended"] - t["begun"] for t in rounds)
    assert together < whole / 8, f"two rounds ran at once for {together:.1f} s of {whole:.1f} s"
    in_vain = [tick for tick in wave.ticks if not tick["asked"]]
    within = (r["begun"] < t["begun"] and t["ended"] < r["ended"] for t in in_vain for r in rounds)
    assert any(within), "every tick waited for the round before it: rounds pile up"


def nobody_starves(wave: Wave) -> None:
    """Due last of all, and yet served by turns."""
    others, ours = wave.asked_of(wave.beside), {row.reference for row in wave.rows}
    assert sorted(others) == sorted(row.reference for row in wave.beside)
    before_the_last = [r for _, r in wave.asked if r in ours or r in others]
    place = before_the_last.index(others[-1])
    assert place < len(before_the_last) / 2, (
        f"the rows of another connector were through as number {place} of {len(before_the_last)}:"
        " they stood behind those of the first"
    )


def the_dead_are_left_alone(wave: Wave) -> None:
    """So many answers that never came are all the time that it cost the others."""
    waited_for = Evidence.objects.filter(
        source="lookup", fulfilment__in=[row.pk for row in wave.frozen]
    )
    assert waited_for.count() == SILENT, (
        f"{waited_for.count()} questions to a provider that is dead: its breaker did not open"
    )
    assert all(now(row).checks == 0 for row in wave.frozen), "a row lost its place in the schedule"


def spread(wave: Wave) -> None:
    """What is still unknown comes back over two fifths of the distance, not as it came."""
    left = [row for row in map(now, wave.rows) if row.state == "needs_reconciliation"]
    asked_at = {
        each.fulfilment_id: each.recorded_at
        for each in Evidence.objects.filter(source="lookup", fulfilment__in=left)
    }
    pauses = [row.next_check_at - asked_at[row.pk] for row in left if row.next_check_at]
    assert len(pauses) >= 12, "a row that is open has no next check"
    slack = timedelta(seconds=5)  # between the answer and the verdict on it
    assert NEXT * (1 - JITTER) <= min(pauses) <= max(pauses) <= NEXT * (1 + JITTER) + slack
    width = max(pauses) - min(pauses)
    assert width > NEXT * JITTER / 2, f"all of them return within {width}: the next wave"
