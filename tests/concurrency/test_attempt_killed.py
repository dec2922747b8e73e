"""A worker process that is killed or frozen at every point; the provider's own books are the oracle."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from fulfilment import store
from fulfilment.dispatch import attempt, sweep
from fulfilment.models import Fulfilment
from fulfilment.reconcile import lookups
from tests.connectors.sandbox import Sandbox, paid, sandbox, until  # noqa: F401
from tests.integration.fulfilment.conftest import QUICK, books  # noqa: F401
from tests.integration.fulfilment.support import due, now, path, start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]

LEASE = timedelta(seconds=3)
LIMITS = {"TOTAL_DEADLINE": timedelta(seconds=1), "MARGIN": timedelta(seconds=0.2)}
NOT_FOUND_FINAL_AFTER = timedelta(seconds=1)


@pytest.fixture
def row(settings: Any, sandbox: Sandbox, books: Any) -> Fulfilment:  # noqa: F811
    connector = sandbox.settings(
        VISIBLE_AFTER=timedelta(0), NOT_FOUND_FINAL_AFTER=NOT_FOUND_FINAL_AFTER
    )
    settings.FULFILMENT = QUICK | LIMITS | {"LEASE": LEASE, "CONNECTORS": {"sandbox": connector}}
    return start(connector="sandbox", amount=100_00)


def worker(row: Fulfilment, sandbox: Sandbox, **where: str) -> subprocess.Popen[bytes]:  # noqa: F811
    """A real worker that has the row; it dies or freezes where the environment says."""
    database = connection.settings_dict
    url = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
    environment = os.environ | {
        "DATABASE_URL": f"postgresql://{database['USER']}:{database['PASSWORD']}@{url}",
        "SANDBOX_URL": sandbox.url,
        "SANDBOX_SECRET": sandbox.secret,
        "FULFILMENT_LEASE": str(LEASE.total_seconds()),
        "FULFILMENT_TOTAL_DEADLINE": "1",
        "FULFILMENT_MARGIN": "0.2",
        **where,
    }
    command = [sys.executable, "-m", "tests.concurrency.fulfilment_worker", str(row.pk)]
    return subprocess.Popen(command, env=environment)


def killed_at(point: str, row: Fulfilment, sandbox: Sandbox) -> None:  # noqa: F811
    process = worker(row, sandbox, FULFILMENT_KILL_AT=point)
    assert process.wait(timeout=60) == -signal.SIGKILL, f"the worker did not reach {point}"
    assert now(row).state == "dispatching"
    swept(row)


def swept(row: Fulfilment) -> None:
    until(lambda: sweep.sweep(), what="the sweeper to take the row back", seconds=20)


def posts(sandbox: Sandbox, row: Fulfilment) -> int:  # noqa: F811
    return len([c for c in sandbox.calls(row.reference) if c["method"] == "POST"])


def test_a_worker_killed_before_the_mark_is_repeated_without_a_question(row, sandbox) -> None:  # noqa: F811
    killed_at("dispatch.claimed", row, sandbox)
    assert path(row) == ["pending", "dispatching", "needs_reconciliation", "pending"]
    assert sandbox.calls(row.reference) == [], "asked, although nothing can have been sent"
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert paid(sandbox) == 1


def test_a_worker_killed_after_the_mark_may_have_paid_and_is_not_repeated(row, sandbox) -> None:  # noqa: F811
    killed_at("dispatch.marked", row, sandbox)
    attempt.run(row.pk)
    due(row)
    lookups.look_up_due()
    assert now(row).state == "needs_reconciliation"
    assert posts(sandbox, row) == 0, "sent again although nobody knew whether it had been sent"


def test_a_worker_killed_with_the_answer_in_hand_paid_once(row, sandbox) -> None:  # noqa: F811
    killed_at("dispatch.answered", row, sandbox)
    assert now(row).state == "needs_reconciliation"
    assert row.transitions.get(version=2).actor == "sweeper"
    due(row)
    lookups.look_up_due()
    assert now(row).state == "fulfilled"
    assert (paid(sandbox), posts(sandbox, row)) == (1, 1)


def test_a_worker_frozen_behind_the_mark_does_not_call_when_it_wakes_up(row, sandbox) -> None:  # noqa: F811
    process = worker(row, sandbox, FULFILMENT_STOP_AT="dispatch.marked")
    try:
        until(
            lambda: row.attempts.filter(sent_at__isnull=False).exists(),
            what="the worker to mark its attempt",
            seconds=60,
        )
        swept(row)
        assert now(row).state == "needs_reconciliation"
    finally:
        process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=60) == 0
    assert posts(sandbox, row) == 0, "a worker called after its lease was over"
    assert now(row).state == "pending", "its own word that nothing left is proof, and was dropped"
    due(row)
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert (paid(sandbox), posts(sandbox, row)) == (1, 1)


def test_a_provider_that_is_not_there_leaves_the_row_waiting(row, sandbox) -> None:  # noqa: F811
    sandbox.stop()
    attempt.run(row.pk)
    assert now(row).state == "pending", "a refused connection is nothing for a person"
    sandbox.start()
    due(row)
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert paid(sandbox) == 1


@pytest.mark.parametrize("fault", ["accept_then_reset", "hang", "lose_request"])
def test_a_lost_call_is_found_or_sent_again_and_paid_once(row, sandbox, fault: str) -> None:  # noqa: F811
    canary = start(connector="sandbox", amount=100_00)
    attempt.run(canary.pk)
    sandbox.set_fault(fault, seconds=2, times=1)
    attempt.run(row.pk)
    assert now(row).state == "needs_reconciliation"
    fence = row.attempts.get().lease_until + sum(LIMITS.values(), timedelta())
    while now(row).state == "needs_reconciliation":
        assert store.now() < fence + timedelta(seconds=20), "nobody ever learnt what happened"
        due(row)
        lookups.look_up_due()
        time.sleep(0.3)

    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert len(sandbox.payments(row.reference)) == 1
