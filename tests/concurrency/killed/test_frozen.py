"""A worker that is frozen at every point of a payment, past its lease, and wakes up afterwards.

Whatever it still says then comes too late: the row has gone on, and the reference is the same one.
"""

import os
import signal
import time
from dataclasses import replace

import pytest

from fulfilment import rounds
from tests.concurrency.killed.plays import dispatching
from tests.concurrency.killed.stage import Stage, customers
from tests.concurrency.killed.striking import assert_right, recorded, strikes
from tests.concurrency.killed.times import LEASE
from tests.concurrency.killed.wire import Said, Wire

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.django_db(transaction=True),
    pytest.mark.processes,
    pytest.mark.timeout(300),
]

AT_ONCE = 35  # frozen workers, each with a session at the database


def test_a_worker_frozen_anywhere_past_its_lease_pays_once(stage: Stage) -> None:
    stage.sent()
    play = dispatching(stage)
    said = recorded(stage, play)
    points = [strike for strike in strikes(said, worth_a_stop) if not strike.half]
    died: dict[int, str] = {}
    payers = customers(stage)
    for first in range(0, len(points), AT_ONCE):
        frozen: list[tuple[Wire, int]] = []
        for strike, own in zip(points[first : first + AT_ONCE], payers, strict=False):
            row = own.ordered()
            died[row.pk] = f"{strike.number}: {said[strike.number - 1]}"
            wire, pid = stage.begun(
                play.work, row.pk, strike=replace(strike, signal=signal.SIGSTOP)
            )
            frozen.append((wire, pid))
            assert wire.struck.wait(timeout=20), f"it was never frozen at {died[row.pk]}"
        _let_the_others_go_on()
        for wire, pid in frozen:
            _wake(stage, wire, pid)
    stage.decided()
    assert len(died) == len(points) >= 50
    assert_right(stage, play, died)


def worth_a_stop(number: int, said: Said) -> bool:
    """Between any two things; and with its word to the provider said, and not yet on its way."""
    return not said.by_worker or said.to == "provider"


def _let_the_others_go_on() -> None:
    """Sweeps, look-ups, dispatch: as long as it takes to find the lost and send them again."""
    end = time.monotonic() + 3 * LEASE.total_seconds()
    while time.monotonic() < end:
        rounds.whole_round()
        time.sleep(0.2)


def _wake(stage: Stage, wire: Wire, pid: int) -> None:
    """It may find its session gone, and fail: the row is what counts."""
    wire.resumed.set()
    os.kill(pid, signal.SIGCONT)
    code, said = stage.dismissed(pid)
    assert code in {0, 1}, said
    wire.close()
