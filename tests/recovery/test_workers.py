"""Real workers that are killed, frozen, doubled and lied to by their broker (II.12, 13, 25, 27; C058-C067)."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
import pytest
from django.db import connection, transaction

from fulfilment.models import Case, Fulfilment
from tests.connectors.sandbox import instruction, until
from tests.integration.fulfilment.support import held, now, path
from tests.recovery.payments import booked, caller, outside, paid_once, settled
from tests.recovery.stack import BOUND, CREW, LEASE, Stack
from tests.recovery.standing import _django_db_helper, _ours  # noqa: F401

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.processes,
    pytest.mark.chaos,
    pytest.mark.timeout(180),
]


def test_a_message_that_is_delivered_again_during_the_call_makes_no_second_call(
    crew: Stack,
) -> None:
    row = outside("sandbox:hang(1.5) sandbox:no_webhook")
    crew.hint(row.pk)
    booked(crew, row)
    crew.redeliver()
    settled(row)
    ids = re.findall(r"Task fulfilment\.dispatch\[(.+?)\] received", crew.log())
    assert len(ids) > len(set(ids)), "nothing was delivered twice, so nothing is proved"
    paid_once(crew, row)
    assert row.attempts.count() == 1, "the second delivery took the payment again"


def test_a_child_that_is_killed_in_the_call_is_asked_about_and_not_repeated(crew: Stack) -> None:
    row = outside("sandbox:hang(30) sandbox:no_webhook")
    booked(crew, row)
    caller(row).kill()
    settled(row)
    paid_once(crew, row)
    assert row.transitions.get(version=2).actor == "sweeper"


def test_payments_that_kill_their_workers_stop_doing_so_and_the_others_are_paid(
    crew: Stack,
) -> None:
    settled(outside(connector="kills_in_the_call"))  # the canary, or nothing is ever sent again
    before = outside(connector="kills_before_the_mark")
    during = outside("kills", connector="kills_in_the_call")
    others = [outside() for _ in range(20)]
    settled(*others)
    paid_once(crew, *others)
    for row in (before, during):
        until(lambda row=row: row.cases.exists(), what="a person to be asked", seconds=BOUND)
    assert (before.cases.get().reason, during.cases.get().reason) == ("crashes", "not_found")
    assert {now(before).state, now(during).state} == {"needs_reconciliation"}
    settled(outside())  # rounds have passed
    attempts = before.attempts.count(), during.attempts.count()
    assert attempts == (2, 2), f"{attempts} workers were killed: CRASHES is 2 for each payment"
    assert not crew.sandbox.payments(before.reference)


def test_all_that_was_waiting_or_in_hand_outlives_its_workers_and_an_emptied_broker(
    crew: Stack,
) -> None:
    """The workers that come after them are another host's."""
    crew.kill(*CREW)
    points = ("dispatch.claimed", "dispatch.marked", "dispatch.answered")
    in_hand = [outside(point) for point in points]
    dying = [one_attempt(crew, row, at=at) for row, at in zip(in_hand, points, strict=True)]
    assert [process.wait(timeout=BOUND) for process in dying] == [-signal.SIGKILL] * 3
    assert {now(row).state for row in in_hand} == {"dispatching"}
    waiting = [outside() for _ in range(50)]
    crew.hint(*(row.pk for row in waiting))
    crew.kill("broker")
    crew.start("broker")
    for name in CREW:
        crew.worker(name, host="another-host")
    settled(*waiting, *in_hand, manned=False)
    paid_once(crew, *waiting, *in_hand)
    claimed, *unknown = in_hand
    assert path(claimed)[2:5] == ["needs_reconciliation", "pending", "dispatching"]
    assert not [c for c in crew.sandbox.calls(claimed.reference) if c["method"] == "GET"], (
        "what was provably not sent was asked about"
    )
    assert all(path(row)[2] == "needs_reconciliation" for row in unknown)


def one_attempt(crew: Stack, row: Fulfilment, *, at: str) -> "subprocess.Popen[bytes]":
    """A process that makes one attempt, and dies at this point of it."""
    command = [sys.executable, "-m", "tests.concurrency.fulfilment_worker", str(row.pk)]
    return subprocess.Popen(command, env=os.environ | crew.environment | {"FULFILMENT_KILL_AT": at})


def test_a_broker_that_comes_back_three_times_leaves_no_deaf_worker(crew: Stack) -> None:
    for _ in range(3):
        crew.kill("broker")
        time.sleep(0.5)  # the outage itself: everybody shall meet it
        crew.start("broker")
        time.sleep(0.5)
    row = outside()
    settled(row)
    paid_once(crew, row)


def test_two_beats_and_two_workers_handle_each_stuck_payment_once(crew: Stack) -> None:
    cases = Case.objects.count()
    settled(outside())  # the canary
    stuck = [left_by_a_dead_worker(crew, sent=n % 2 == 0) for n in range(20)]
    settled(*stuck)
    paid_once(crew, *stuck)
    assert Case.objects.count() == cases, "somebody was told of a payment that needed nobody"
    said = [line for line in crew.log().splitlines() if "action=attempt_swept" in line]
    told = Counter(row.reference for row in stuck for line in said if row.reference in line)
    assert set(told.values()) == {1}, f"the same attempt was taken back again: {told}"


def left_by_a_dead_worker(crew: Stack, *, sent: bool) -> Fulfilment:
    """Long ago, and known to the crew at one moment: they are at work all the time."""
    with transaction.atomic():
        row = outside("stuck")
        if sent:
            crew.sandbox.connector().send(instruction(row.reference))
        held(row, sent=sent)
    return row


def test_a_frozen_worker_that_wakes_up_adds_its_answer_and_no_call(crew: Stack) -> None:
    row = outside("sandbox:hang(1) sandbox:no_webhook")
    booked(crew, row)
    frozen = caller(row)
    frozen.suspend()
    settled(row)
    assert not row.evidence.filter(source="response").exists(), "it was never frozen in the call"
    frozen.resume()
    until(
        lambda: row.evidence.filter(source="response").exists(),
        what="the late answer to be on record",
        seconds=BOUND,
    )
    assert now(row).state == "fulfilled"
    paid_once(crew, row)


def test_a_database_that_stands_still_after_the_provider_answered(crew: Stack) -> None:
    row = outside("sandbox:hang(1) sandbox:no_webhook")
    booked(crew, row)
    stopped = [psutil.Process(pid) for pid in backends()]
    for process in stopped:
        process.suspend()
    time.sleep(LEASE + 1)  # the outage itself: longer than the lease
    for process in stopped:
        process.resume()
    settled(row)
    paid_once(crew, row)


def backends() -> list[int]:
    """The server's processes for everybody but this test."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return [row[0] for row in cursor.fetchall()]


def test_a_worker_and_its_children_share_no_connection(crew: Stack) -> None:
    """Made before the fork, one connection would carry two conversations."""
    rows = [outside() for _ in range(40)]
    settled(*rows)
    paid_once(crew, *rows)
    for name in CREW:
        family = [psutil.Process(crew.child(name).process.pid), *crew.pool(name)]
        ports = [c.laddr.port for p in family for c in p.net_connections("tcp") if c.raddr]
        assert len(ports) == len(set(ports)), "a connection is open in two processes"


def test_one_process_without_any_broker_does_all_that_workers_and_beat_do(crew: Stack) -> None:
    """`manage.py run_sweeps`; nobody else is left."""
    everybody = (*CREW, *(f"beat-{name}" for name in CREW), "broker")
    crew.kill(*everybody)
    waiting = [outside() for _ in range(5)]
    lost = [left_by_a_dead_worker(crew, sent=sent) for sent in (True, False)]
    crew.sweeps()
    settled(*waiting, *lost, manned=False)
    paid_once(crew, *waiting, *lost)
    crew.kill("sweeps")
    crew.start(*reversed(everybody))
