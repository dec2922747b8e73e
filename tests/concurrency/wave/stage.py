"""Providers, payments of which nobody knows what became, and the workers that find it out."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db import connection

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.dispatch import attempt
from fulfilment.models import ConnectorStanding, Fulfilment
from tests.connectors.sandbox import Sandbox
from tests.integration.fulfilment.support import now, start

FOUND, LOST = "sandbox:accept_then_reset", "sandbox:lose_request(1)"
AGO = timedelta(hours=1)


class Worker:
    """One process that makes rounds once it is told to begin."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def begin(self) -> None:
        assert self.process.stdout
        ready = self.process.stdout.readline()
        assert ready, "the worker did not start; what it said is above"
        self._order("begin")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=20)

    def ended(self) -> list[dict[str, Any]]:
        """Its ticks, after its last."""
        self._order("end")
        said, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, "the worker broke; what it said is above"
        return [json.loads(line) for line in said.splitlines()]

    def _order(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


@contextmanager
def workers(provider: Sandbox, frozen: Sandbox, *, count: int) -> Iterator[list[Worker]]:
    """So many of them on the database of the test, not yet begun."""
    at = connection.settings_dict
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.concurrency.wave.settings",
        "DATABASE_URL": f"postgresql://{at['USER']}:{at['PASSWORD']}@{at['HOST']}:{at['PORT']}/{at['NAME']}",
        "SANDBOX_URL": provider.url,
        "FROZEN_URL": frozen.url,
        "SANDBOX_SECRET": provider.secret,
        "LOG_LEVEL": "CRITICAL",
    }
    command = [sys.executable, "-m", "tests.concurrency.wave.worker"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    hired = [Worker(subprocess.Popen(command, env=environment, **pipes)) for _ in range(count)]
    try:
        yield hired
    finally:
        for each in hired:
            each.kill()
            for pipe in (each.process.stdin, each.process.stdout):
                assert pipe
                pipe.close()


@contextmanager
def frozen(provider: Sandbox) -> Iterator[None]:
    """Its port takes connections, and no answer ever comes."""
    provider.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        provider.process.send_signal(signal.SIGCONT)


def lost(count: int, narration: str, *, connector: str = "sandbox") -> list[Fulfilment]:
    """So many that were sent, each without an answer, and whose next look-up is far away."""
    told = {"bank": "058", "account": "0123456789", "narration": narration}
    rows = [start(connector=connector, instruction=told) for _ in range(count)]
    for row in rows:
        attempt.run(row.pk)
        ConnectorStanding.objects.all().delete()  # an outage, and its end: no breaker is open
    assert {now(row).state for row in rows} <= {"needs_reconciliation"}
    return rows


def known() -> Fulfilment:
    """One that both sides know: the canary of its connector."""
    told = {"bank": "058", "account": "0123456789", "narration": "rent"}
    row = start(connector="sandbox", instruction=told)
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    return row


def mixed(rows: Sequence[Fulfilment]) -> list[Fulfilment]:
    """In an order that is neither that of their ids nor of their references."""
    return random.Random(20).sample(rows, k=len(rows))


def all_due(rows: Sequence[Fulfilment]) -> None:
    """All of them since an hour, one after the other, the first in the list first."""
    since = store.now() - AGO
    for place, row in enumerate(rows):
        due = since + timedelta(seconds=place)
        Fulfilment.objects.filter(pk=row.pk).update(next_check_at=due)


def questions(provider: Sandbox) -> list[tuple[datetime, str]]:
    """When the provider was asked about which reference, by its own journal."""
    calls = [c for c in provider.books()["calls"] if c["path"].startswith("/v1/payments/")]
    return [
        (datetime.fromisoformat(c["at"]), c["reference"]) for c in calls if c["method"] == "GET"
    ]


def most_in_a_second(times: Sequence[datetime]) -> int:
    """The most that lie in any window of one second."""
    second = timedelta(seconds=1)
    return max(sum(1 for t in times if at <= t < at + second) for at in times)


def at_work_together(ticks: Sequence[dict[str, Any]]) -> float:
    """Seconds for which two rounds were made at once. One may begin its tick as another lets go."""
    working = sorted((t["begun"], t["ended"]) for t in ticks)
    return sum(max(0.0, before[1] - after[0]) for before, after in pairwise(working))


def meanwhile() -> timedelta:
    """For how long nobody else asks about a row of which one round has begun to ask."""
    return 2 * (conf().total_deadline + timedelta(seconds=10)) + conf().margin
