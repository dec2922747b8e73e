"""A worker dies in the middle of a round of look-ups."""

import pytest

from fulfilment import store, tasks
from fulfilment.models import Evidence, Fulfilment
from tests.concurrency.wave import stage
from tests.concurrency.wave.stage import FOUND
from tests.connectors.sandbox import Sandbox, until
from tests.integration.fulfilment.support import due, now

pytestmark = [pytest.mark.processes, pytest.mark.chaos]


def later(rows: list[Fulfilment]) -> list[Fulfilment]:
    """Those that nobody asks about at the moment."""
    ids = [row.pk for row in rows]
    waiting = Fulfilment.objects.filter(pk__in=ids, state="needs_reconciliation")
    return list(waiting.filter(next_check_at__gt=store.now()))


def test_a_round_that_is_killed_keeps_one_row_for_a_while_and_nobody_out(
    sandbox: Sandbox, dead: Sandbox
) -> None:
    with stage.workers(sandbox, dead, count=1) as (worker,):
        rows = stage.lost(5, FOUND)
        stage.all_due(rows)
        with stage.frozen(sandbox):
            worker.begin()
            until(lambda: later(rows), what="the round to begin", seconds=30)
            tasks.look_up()
            assert not Evidence.objects.filter(source="lookup").exists(), (
                "a tick waited for the round before it, or asked beside it"
            )
            worker.kill()
    held, *more = later(rows)
    assert not more, f"{len(more)} rows that nobody asked about wait with the one that somebody did"
    assert held.pk == rows[0].pk, "it was not the one that was due longest"
    assert held.next_check_at
    assert held.next_check_at <= store.now() + stage.meanwhile(), "it is never asked about again"

    def others_done() -> bool:
        tasks.look_up()
        return [now(row).state for row in rows[1:]] == ["fulfilled"] * 4

    until(others_done, what="the next round: the dead worker's lock is still held", seconds=20)
    assert now(held).state == "needs_reconciliation"
    due(held)  # its while is over
    tasks.look_up()
    assert now(held).state == "fulfilled"
