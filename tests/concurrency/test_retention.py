"""Clean-ups in processes of their own: two at once, and one that is killed on its way."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction

from idempotency import retention
from tests.connectors.sandbox import until
from tests.integration.idempotency.old_keys import finished, keys, open_ones

pytestmark = [
    pytest.mark.django_db(transaction=True, available_apps=["idempotency"]),
    pytest.mark.processes,
]

ADA = UUID("00000000-0000-0000-0000-00000000ada0")
LONG_AGO = timedelta(days=31)
COUNT = 500


Clean = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def cleaning() -> Iterator[Clean]:
    """`manage.py sweep_idempotency --only retention` on this test's database, ten rows at a time."""
    started: list[subprocess.Popen[str]] = []

    def start(**where: str) -> subprocess.Popen[str]:
        database = connection.settings_dict
        place = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
        environment = os.environ | {
            "DATABASE_URL": f"postgresql://{database['USER']}:{database['PASSWORD']}@{place}",
            "IDEMPOTENCY_RETENTION_BATCH": "10",
            "STATEMENT_TIMEOUT": "19",  # one may wait long for the other to start
            "LOCK_TIMEOUT": "18",
            **where,
        }
        command = [sys.executable, "manage.py", "sweep_idempotency", "--only", "retention"]
        command.append("--skip-checks")  # tested elsewhere; they take longer than the work
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        return started[-1]

    yield start
    for running in started:
        running.kill()
        running.communicate()


def deleted(running: subprocess.Popen[str]) -> int:
    said, wrong = running.communicate(timeout=60)
    assert running.returncode == 0, f"a clean-up ended with an error:\n{wrong[-2000:]}"
    return int(said.removeprefix("deleted "))


def waiting() -> int:
    """How many sessions wait for a lock of this one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks"
            " WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
        )
        return int(cursor.fetchone()[0])


def test_two_processes_at_once_delete_each_row_once(cleaning: Clean) -> None:
    finished(COUNT, age=LONG_AGO, user=ADA)
    with transaction.atomic():  # both stand at the table before either may begin
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE")
        both = [cleaning(), cleaning()]
        until(lambda: waiting() == 2, what="two clean-ups at the table", seconds=60)
    counts = [deleted(one) for one in both]
    assert sum(counts) == COUNT, f"{counts}: a row was counted twice, or was left"
    assert min(counts) > 0, f"{counts}: one waited for the other instead of sharing the work"
    assert keys() == []


def test_a_process_that_is_killed_leaves_the_rest_to_the_next(cleaning: Clean) -> None:
    finished(COUNT, age=LONG_AGO, user=ADA)
    open_ones(age=LONG_AGO, user=ADA)
    running = cleaning(IDEMPOTENCY_KILL_AT="retention.retired")
    running.communicate(timeout=60)
    assert running.returncode == -signal.SIGKILL, "it never got to its first batch"
    assert retention.retire() == COUNT - 10, "a batch that had ended was not committed"
    assert keys() == ["deferred", "held", "leased", "marked"]
