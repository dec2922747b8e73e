"""Nobody depends on a client's retry: the sweep asks about what came to no end."""

import logging
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import OperationalError, connection, transaction

from idempotency import NotDone, Unknown, operations, sweeps
from idempotency.checks import options as checks
from tests.concurrency.fulfilments import at_once
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effects, rows
from tests.integration.idempotency.test_takeover import Died, died, held, send

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


def leave_marked(phone: Phone, stage: Stage, key: str) -> None:
    """One more request that dies with the other system's answer in its hand."""
    stage.act = desk.orders_then(Died())
    with pytest.raises(Died):
        send(phone, key)


def test_what_happened_is_settled_and_the_client_replays_it(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=True, called=True)
    assert sweeps.recover_due() == 0, "a lease that is not over was swept"
    desk.run_out()
    stage_.recover = desk.asks
    assert sweeps.recover_due() == 1
    assert rows() == [(key, "completed", 201)]
    answer = send(ada, key)
    assert (answer.status_code, answer.content) == (201, b'{"n":"found"}')
    assert (answer.headers[MARKER], stage_.calls) == ("true", 1)


def test_what_did_not_happen_is_left_to_the_clients_retry(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=True)
    desk.run_out()
    stage_.recover = desk.asks
    assert [sweeps.recover_due() for _ in range(2)] == [1, 0]
    assert (stage_.calls, effects()) == (1, 0), "the sweep ran the request by itself"
    now = desk.standing()
    assert (now["status"], now["leased"], now["sent"]) == ("in_progress", False, False)
    assert send(ada, key, {"amount": 2}).status_code == 422, "a freed key took another body"
    stage_.act = desk.orders
    answer = send(ada, key)
    assert (answer.status_code, stage_.asked, list(desk.books.values())) == (201, 1, [1])


def test_what_cannot_be_told_is_held_and_asked_ever_rarer(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    limits = {"RECHECK_FIRST": timedelta(seconds=7), "RECHECK_LAST": timedelta(minutes=5)}
    settings.IDEMPOTENCY = limits
    held(ada, stage_, key)
    waits = []
    for age in (timedelta(0), timedelta(minutes=2), timedelta(days=1)):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE idempotency_keys SET held_at = clock_timestamp() - %s", [age])
        desk.run_out()
        assert [sweeps.recover_due() for _ in range(2)] == [1, 0], "asked again before its time"
        with connection.cursor() as cursor:
            cursor.execute("SELECT next_check_at - clock_timestamp() FROM idempotency_keys")
            waits.append(round(cursor.fetchone()[0].total_seconds()))
    assert waits == [7, 120, 300]
    assert stage_.calls == 1


def test_a_crash_before_the_mark_is_no_question(ada: Phone, stage_: Stage, key: str) -> None:
    died(ada, stage_, key, marked=False)
    desk.run_out()
    assert (sweeps.recover_due(), stage_.asked) == (0, 0)


def test_sweeps_and_retries_at_once_ask_once_about_each_key(ada: Phone, stage_: Stage) -> None:
    keys = [f"crowd-{n}" for n in range(5)]
    for name in keys:
        leave_marked(ada, stage_, name)
    desk.run_out()
    stage_.recover = desk.asks
    swept = at_once(*[sweeps.recover_due] * 3, lambda: send(ada, keys[0]))
    assert not [s for s in swept if isinstance(s, BaseException)], swept
    assert stage_.asked == 5, f"{stage_.asked} questions about five keys: two had one in hands"
    assert {status for _, status, _ in rows()} == {"completed"}


def test_one_key_that_fails_does_not_keep_the_others(ada: Phone, stage_: Stage) -> None:
    for n in range(3):
        leave_marked(ada, stage_, f"key-of-three-{n}")
    desk.run_out()

    def recover(record: Any) -> object:
        if stage_.asked == 1:  # the connection is lost while the first is asked about
            with pytest.raises(OperationalError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return desk.asks(record)

    stage_.recover = recover
    assert sweeps.recover_due() == 3
    assert [status for _, status, _ in rows()].count("completed") == 2
    desk.run_out()
    assert sweeps.recover_due() == 1
    assert {status for _, status, _ in rows()} == {"completed"}


def test_keys_of_a_view_that_is_gone_are_named_and_left(
    ada: Phone, stage_: Stage, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    held(ada, stage_, key)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE idempotency_keys SET operation = 'gone.view'")
    desk.run_out()
    before = desk.standing()
    with caplog.at_level(logging.ERROR):
        assert sweeps.recover_due() == 0
    assert desk.standing() == before
    assert "gone.view" in caplog.text, "keys that nobody can ask about are passed over in silence"


def test_a_call_of_a_view_that_is_gone_is_held_and_listed(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=True)
    before = desk.standing()["claim_token"]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE idempotency_keys SET operation = 'gone.view'")
    assert sweeps.recover_due() == 0
    assert desk.standing()["held"] is False, "a lease that is not over was swept"
    desk.run_out()
    assert sweeps.recover_due() == 0
    now = desk.standing()
    assert now["held"], "it is in progress for ever, and nobody sees it"
    assert (now["hold_reason"], now["waits"]) == ("no view named gone.view is installed", True)
    assert now["claim_token"] != before, "a late finisher could settle what staff decide about"
    with connection.cursor() as cursor:
        cursor.execute("UPDATE idempotency_keys SET operation = 'stage.leased'")
    desk.run_out()
    stage_.recover = desk.asks
    assert sweeps.recover_due() == 1, "the view is back, and its key is not asked about"


def test_after_one_sweep_no_key_is_in_progress_unless_somebody_can_see_why(
    ada: Phone, stage_: Stage
) -> None:
    """G4: whatever a request died of, and whether or not its client comes back."""
    for number, marked in enumerate((False, True, True)):
        died_key = f"g4-{number}"
        stage_.act = desk.orders_then(Died()) if marked else _dies
        with pytest.raises(Died):
            send(ada, died_key)
    desk.run_out()
    stage_.recover = lambda record: NotDone() if record.key == "g4-1" else Unknown("closed")
    call_command("sweep_idempotency", stdout=StringIO(), skip_checks=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT key, state FROM idempotency_key_list")
        assert dict(cursor.fetchall()) == {"g4-1": "waiting", "g4-2": "held"}


def _dies(request: Any) -> Any:
    raise Died


def test_a_batch_is_bounded(ada: Phone, stage_: Stage, settings: Any) -> None:
    settings.IDEMPOTENCY = {"BATCH": 2}
    for n in range(3):
        leave_marked(ada, stage_, f"many-{n}")
    desk.run_out()
    stage_.recover = lambda record: Unknown("closed")
    assert [sweeps.recover_due() for _ in range(3)] == [2, 1, 0]


def test_the_command_sweeps_once(ada: Phone, stage_: Stage, key: str) -> None:
    died(ada, stage_, key, marked=True, called=True)
    desk.run_out()
    stage_.recover = desk.asks
    said = StringIO()
    call_command("sweep_idempotency", stdout=said, skip_checks=True)
    assert said.getvalue() == "freed 0, asked about 1, held 0, deleted 0\n"
    assert rows() == [(key, "completed", 201)]


def test_a_sweep_inside_a_transaction_is_refused(stage_: Stage) -> None:
    with pytest.raises(ImproperlyConfigured), transaction.atomic():
        sweeps.recover_due()


def test_a_lease_that_a_call_may_outlast_is_refused_at_start(settings: Any) -> None:
    assert not list(checks._leases())
    for lease in (-1, 0, 15):
        settings.IDEMPOTENCY = {"LEASE": timedelta(seconds=lease)}
        found = list(checks._leases())
        assert {error.id for error in found} == {"idempotency.E007"}
        assert len(found) == len(operations.registered())
