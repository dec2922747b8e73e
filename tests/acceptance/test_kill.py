"""`kill -9` where it hurts most: one effect, right end."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2
import psutil
import psycopg
import pytest

from ledgerline.demo.check import books, taps
from ledgerline.demo.check.phone import Phone, new_key
from ledgerline.demo.check.system import System, connections
from tests.acceptance.conftest import Demo

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

GATE = 20260930  # the advisory lock that stands between a key's settling and its commit

# Holds the web process between its business writes and the commit: settling the key waits here.
STALL = f"""
CREATE OR REPLACE FUNCTION acceptance_stall() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock({GATE}); RETURN NEW; END $$;
CREATE OR REPLACE TRIGGER acceptance_stall BEFORE UPDATE ON idempotency_keys
  FOR EACH ROW WHEN (NEW.key LIKE 'stall-%') EXECUTE FUNCTION acceptance_stall();
"""
UNSTALL = "DROP TRIGGER acceptance_stall ON idempotency_keys; DROP FUNCTION acceptance_stall();"
STALLED = """
SELECT client_port FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory'
"""


def test_a_web_process_killed_between_business_write_and_commit_leaves_one_transfer(
    demo: Demo, system: System
) -> None:
    key = f"stall-{new_key()}"
    body = taps.on_us(system, amount=777, narration="killed before commit")
    with _stalled(system), taps.phone(system) as phone:
        with pytest.raises(ConnectionError):
            _send_and_kill(demo, system, phone, body, key)
        rows = system.rows("SELECT 1 FROM bank_transfer WHERE narration = 'killed before commit'")
        assert rows == [], "the business write of an uncommitted request is visible"
    with taps.phone(system) as phone:
        final = phone.until_final(body, key=key)
    assert final.status == 201, f"the retry after the crash got {final.status}: {final.body!r}"
    books.one_transfer_one_posting(system, json.loads(final.body)["reference"])
    books.balanced(system)


def test_a_worker_killed_in_mid_call_pays_once_and_the_phone_learns_it(
    demo: Demo, system: System
) -> None:
    key, narration = (
        new_key(),
        f"killed in mid-call {new_key()[:8]} sandbox:hang(30) sandbox:no_webhook",
    )
    body = taps.external(system, amount=778, narration=narration)
    with taps.phone(system) as phone:
        taps.taken(phone.send(body, key=key))
        _wait_for(lambda: _booked(system, narration), "the provider never got the call")
        for child in demo.children("worker"):
            child.kill()
        phone.patience = 60
        final = phone.until_final(body, key=key)
    assert final.status == 201, f"the phone got {final.status}: {final.body!r}"
    reference = json.loads(final.body)["reference"]
    books.paid_once(system, reference)
    said = books.said(system, reference)
    assert ("lookup", "done") in said, (
        f"the outcome must come from a look-up; what was said: {said}"
    )
    calls = [p["calls"] for p in system.books().values() if p["narration"] == narration]
    assert calls == [1], (
        f"the provider was called {calls} times: the attempt was sent again after the crash"
    )


@contextmanager
def _stalled(system: System) -> Iterator[None]:
    with psycopg.connect(system.database_url, autocommit=True) as gate:
        gate.execute(STALL)
        gate.execute("SELECT pg_advisory_lock(%s)", [GATE])
        try:
            yield
        finally:
            gate.execute("SELECT pg_advisory_unlock(%s)", [GATE])
            gate.execute(UNSTALL)


def _send_and_kill(
    demo: Demo, system: System, phone: Phone, body: dict[str, object], key: str
) -> None:
    """Raises `ConnectionError`: the phone's view of a server that died."""
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(phone.send, body, key=key)
        _wait_for(lambda: system.rows(STALLED), "no request reached the settling of its key")
        _web_process_at(demo, system.rows(STALLED)[0]["client_port"]).kill()
        try:
            sent.result(timeout=30)
        except httpx2.TransportError as error:
            raise ConnectionError from error


def _web_process_at(demo: Demo, port: int) -> psutil.Process:
    for child in demo.children("web"):
        if any(c.laddr and c.laddr.port == port for c in connections(child)):
            return child
    raise AssertionError(f"no web process holds the database connection from port {port}")


def _booked(system: System, narration: str) -> bool:
    return any(payment["narration"] == narration for payment in system.books().values())


def _wait_for(question: Callable[[], object], otherwise: str, *, patience: float = 20.0) -> None:
    deadline = time.monotonic() + patience
    while not question():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.05)
