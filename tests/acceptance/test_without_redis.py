"""PostgreSQL decides: without the cache the same answers, without the broker the same payments."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ledgerline.demo.check import books, stories
from ledgerline.demo.check.phone import Phone, new_key
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
    phone, key, body = _phone(system), new_key(), _body(system, "cache frozen")
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
        assert "1 transfer, 1 posting" in stories.one_tap_from_fifty_callers(system)


def test_with_the_broker_frozen_an_external_transfer_is_taken_and_still_sent(
    demo: Demo, system: System
) -> None:
    phone, key, body = _phone(system), new_key(), _body(system, "broker frozen") | {"toBank": "058"}
    with frozen(demo, "broker"):
        first = phone.send(body, key=key)
    assert first.status == 202, (
        f"a frozen broker must not refuse a payment: {first.status} {first.body!r}"
    )
    final = phone.until_final(body, key=key)
    assert final.status == 201, f"the poller did not send what the broker lost: {final.body!r}"
    books.paid_once(system, json.loads(final.body)["reference"])


def _phone(system: System) -> Phone:
    return Phone(system.base_url, system.users["ada"]["token"])


def _body(system: System, narration: str) -> dict[str, object]:
    return {
        "toAccount": system.users["bola"]["account"],
        "amount": 1,
        "currency": "NGN",
        "narration": narration,
    }
