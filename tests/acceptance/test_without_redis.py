"""PostgreSQL decides: without the cache the same answers, without the broker the same payments."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ledgerline.demo.check import books, taps
from ledgerline.demo.check.crowd import one_tap_from_fifty_callers
from ledgerline.demo.check.phone import new_key
from ledgerline.demo.check.system import System
from tests.acceptance.conftest import Demo

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


@contextmanager
def frozen(demo: Demo, role: str) -> Iterator[None]:
    """A server that is there and does not answer: worse than one that refuses."""
    pids = demo.facts["pids"][role]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_with_the_cache_frozen_a_replay_is_byte_for_byte_the_same(
    demo: Demo, system: System
) -> None:
    key, body = new_key(), taps.on_us(system, amount=1, narration="cache frozen")
    with taps.phone(system) as phone:
        first = phone.send(body, key=key)
        with frozen(demo, "cache"):
            replay = phone.send(body, key=key)
            other = phone.send(body | {"amount": 2}, key=key)
    assert (replay.status, replay.body, replay.replayed) == (201, first.body, True)
    assert other.status == 422, f"another body under the same key got {other.status}"


def test_with_the_cache_frozen_fifty_callers_still_make_one_transfer(
    demo: Demo, system: System
) -> None:
    with frozen(demo, "cache"):
        assert "1 transfer, 1 posting" in one_tap_from_fifty_callers(system)


def test_with_the_broker_frozen_an_external_transfer_is_taken_and_still_sent(
    demo: Demo, system: System
) -> None:
    key, body = new_key(), taps.external(system, amount=1, narration="broker frozen")
    with taps.phone(system) as phone:
        with frozen(demo, "broker"):
            taps.taken(phone.send(body, key=key))
        final = taps.paid(phone.until_final(body, key=key))
    books.paid_once(system, json.loads(final.body)["reference"])
