"""A bank that is stopped and started, and a worker that is killed in its call (II.11, II.13)."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
from django.db import connection

from fulfilment.models import Fulfilment
from tests.connectors.iso20022 import workers
from tests.connectors.iso20022.payments import Town, until
from tests.connectors.sandbox import until as waited
from tests.integration.fulfilment.support import now, path

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_a_payment_that_waits_for_a_stopped_bank_is_never_seen_as_unknown_and_is_paid_once(
    own_town: Town,
) -> None:
    own_town.bank.stop()
    own_town.reached(url=own_town.bank.url)  # a proxy would take the connection
    row = own_town.pay()
    with _everything_seen_of(row) as seen:
        until(lambda: now(row).refusals >= 3, what="three refused connections")
    assert seen <= {"pending", "dispatching"}, f"what was provably not sent was shown as {seen}"
    assert "needs_reconciliation" in path(row), "it was not judged, so nothing is proved"
    own_town.bank.start()
    own_town.settled(row)
    own_town.paid_once(row)
    moments = list(row.attempts.order_by("number").values_list("claimed_at", flat=True))
    pauses = [(after - before).total_seconds() for before, after in pairwise(moments)]
    assert min(pauses) >= 0.15, f"it knocked again without a pause: {pauses}"
    assert row.attempts.exclude(outcome="not_sent").count() == 1


def test_a_worker_that_is_killed_before_the_answer_leaves_a_question_and_no_second_payment(
    town: Town,
) -> None:
    row = town.pay()
    town.wire.slow_answers(60)
    worker = workers.one_attempt(row, town)
    try:
        waited(lambda: town.bank.paid(row.reference), what="the bank to book it", seconds=40)
        assert now(row).state == "dispatching"
    finally:
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(timeout=20)
    town.wire.heal()
    town.settled(row)
    town.paid_once(row)
    assert path(row) == ["pending", "dispatching", "needs_reconciliation", "fulfilled"]
    assert row.transitions.get(version=2).actor == "sweeper", (
        "the worker closed it: it was not dead"
    )
    assert row.attempts.get().outcome == "lost"
    assert town.wire.posted(row.reference) == 1, "it was sent again before the bank was asked"


@contextmanager
def _everything_seen_of(row: Fulfilment) -> Iterator[set[str]]:
    """The states that are committed, as somebody else sees them who never looks away."""
    seen: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        try:
            while not over.is_set():
                seen.add(Fulfilment.objects.values_list("state", flat=True).get(pk=row.pk))
            seen.add(Fulfilment.objects.values_list("state", flat=True).get(pk=row.pk))
        finally:
            connection.close()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join(timeout=10)
