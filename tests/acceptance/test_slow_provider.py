"""A provider that hangs holds up its own payments, and nothing that keeps the house."""

import time
from contextlib import suppress

import psutil
import pytest

from ledgerline.demo.check import taps
from ledgerline.demo.check.phone import new_key
from ledgerline.demo.check.system import System, connections
from tests.acceptance.conftest import Demo

pytestmark = [pytest.mark.processes, pytest.mark.long, pytest.mark.timeout(180)]

PAYMENTS = 24
LEASE = 5  # seconds, as the demo sets it
STUCK = """
SELECT extract(epoch FROM clock_timestamp() - max(a.claimed_at)) AS age
  FROM fulfilment f JOIN fulfilment_attempt a ON a.fulfilment_id = f.id
 WHERE f.state = 'dispatching' GROUP BY f.id ORDER BY age DESC LIMIT 1
"""


def test_a_dead_worker_is_swept_in_time_while_payments_queue_behind_a_slow_provider(
    demo: Demo, system: System
) -> None:
    mark = f"slow {new_key()[:8]}"
    system.set_fault(fault="hang", seconds=30, match={"narration": mark})
    try:
        with taps.phone(system) as phone:
            body = taps.external(system, amount=1, narration=f"{mark} sandbox:lookup_outage")
            for _ in range(PAYMENTS):
                taps.taken(phone.send(body, key=new_key()))
        _kill_one_in_mid_call(demo, system)
        oldest = _oldest_dispatching(system, during=LEASE + 6)
    finally:
        system.end_faults(narration=mark)
    assert oldest < LEASE + 5, (
        f"a payment was `dispatching` for {oldest:.0f} s: the sweeper waits behind the payments"
    )


def _kill_one_in_mid_call(demo: Demo, system: System) -> None:
    port = int(system.sandbox_url.rpartition(":")[2])
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for child in demo.children("worker"):
            with suppress(psutil.NoSuchProcess):
                if any(c.raddr and c.raddr.port == port for c in connections(child)):
                    child.kill()
                    return
        time.sleep(0.02)
    raise AssertionError("no worker was ever in a call")


def _oldest_dispatching(system: System, *, during: float) -> float:
    """The longest that any row was seen in `dispatching`, in seconds."""
    oldest, deadline = 0.0, time.monotonic() + during
    while time.monotonic() < deadline:
        oldest = max([oldest, *(float(row["age"]) for row in system.rows(STUCK))])
        time.sleep(0.25)
    return oldest
