"""What beat starts, as a worker runs it: safe at any time, and again."""

from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection

from idempotency import gate
from ledgerline import tasks
from tests.integration.idempotency.old_keys import finished, keys, open_ones

pytestmark = pytest.mark.django_db(transaction=True, available_apps=["idempotency"])

ADA = UUID("00000000-0000-0000-0000-00000000ada0")


def test_the_nightly_task_deletes_answers_of_long_ago() -> None:
    finished(3, age=timedelta(days=31), user=ADA)
    finished(1, age=timedelta(days=29), user=ADA, prefix="young-")
    for _ in range(2):  # two beats at once are no more than this, or less
        tasks.retire.run()
        assert keys() == ["young-1"]


def test_the_task_of_every_few_seconds_frees_and_holds_what_nobody_finished() -> None:
    open_ones(age=timedelta(days=1), user=ADA)
    seen: list[str] = []
    with suppress(RuntimeError), gate.claim("task.test", target="once"):
        lease_runs_out()
        for _ in range(2):
            tasks.recover.run()
            seen.append(state())
        raise RuntimeError  # long after: its process had only been slow
    assert keys() == ["deferred", "held", "marked"], "a key whose request sent nothing stays taken"
    assert seen == ["held", "held"], "nobody hears of an action that came to no end"


def lease_runs_out() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE idempotency_actions SET locked_until = now() - interval '1 h'")


def state() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT state FROM idempotency_actions")
        return str(cursor.fetchone()[0])
