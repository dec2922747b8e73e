"""Answers of long ago are deleted, and nothing else is (C048, C049, C051)."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from idempotency import retention, sweeps
from idempotency.management.commands import sweep_idempotency
from tests.concurrency.fulfilments import at_once
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.old_keys import finished, grown_older, keys, open_ones
from tests.integration.idempotency.stage import Stage, effects, succeeds

pytestmark = COMMITTING

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def command(*arguments: str, **options: Any) -> str:
    said = StringIO()
    call_command("sweep_idempotency", *arguments, stdout=said, skip_checks=True, **options)
    return said.getvalue()


def test_final_answers_go_when_their_time_is_over_and_not_before(stage_: Stage) -> None:
    finished(2, age=30 * DAY + MINUTE, user=ADA, prefix="over-")
    finished(2, age=30 * DAY - MINUTE, user=ADA, prefix="young-")
    assert retention.retire() == 2
    assert keys() == ["young-1", "young-2"]


def test_what_is_open_is_never_deleted_however_old(stage_: Stage) -> None:
    open_ones(age=3650 * DAY, user=ADA)
    finished(1, age=3650 * DAY, user=ADA)
    assert retention.retire() == 1
    assert keys() == ["deferred", "held", "leased", "marked"], (
        "a key without an outcome is gone: its retry would run again"
    )


def test_each_batch_commits_by_itself_the_oldest_first(stage_: Stage, settings: Any) -> None:
    settings.IDEMPOTENCY = {"RETENTION_BATCH": 3}
    finished(7, age=31 * DAY, user=ADA, prefix="later-")
    finished(3, age=32 * DAY, user=ADA, prefix="first-")
    told: list[tuple[int, int]] = []

    def remember(total: int) -> None:
        assert not connection.in_atomic_block, "batches share a transaction: rows stay locked"
        told.append((total, len([key for key in keys() if key.startswith("first-")])))

    assert retention.retire(told=remember) == 10
    assert told == [(3, 0), (6, 0), (9, 0), (10, 0)]


def test_it_begins_no_batch_when_its_time_is_over_and_goes_on_the_next_time(
    stage_: Stage, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"RETENTION_BATCH": 3}
    finished(4, age=31 * DAY, user=ADA)
    assert retention.retire(within=timedelta(0)) == 0
    assert [retention.retire(), retention.retire()] == [4, 0]


def test_five_times_in_a_row_and_three_at_once_each_row_goes_once(
    stage_: Stage, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"RETENTION_BATCH": 7}
    finished(200, age=31 * DAY, user=ADA)
    deleted = at_once(*[retention.retire] * 3)
    assert not [d for d in deleted if isinstance(d, BaseException)], deleted
    assert sum(deleted) == 200, f"{deleted}: two runs counted one row, or left one"
    assert [retention.retire() for _ in range(5)] == [0] * 5


def test_a_row_in_somebody_elses_hands_is_left_and_does_not_stop_the_others(
    stage_: Stage,
) -> None:
    finished(3, age=31 * DAY, user=ADA)

    def elsewhere() -> int:
        return retention.retire()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE idempotency_keys SET completed_at = clock_timestamp() WHERE key = 'old-2'"
        )
        [deleted] = at_once(elsewhere)
    assert deleted == 2, f"{deleted!r}: it waited for a lock, or took what was not its own"
    assert (keys(), retention.retire()) == (["old-2"], 0), "a corrected answer was deleted"


@pytest.mark.parametrize(
    ("web", "session"),
    [
        ("UTC", "Asia/Kolkata"),
        ("Asia/Kolkata", "America/St_Johns"),
        ("America/St_Johns", "UTC"),
    ],
)
def test_a_key_lives_as_long_in_every_time_zone(
    stage_: Stage, settings: Any, web: str, session: str
) -> None:
    settings.TIME_ZONE = web
    settings.IDEMPOTENCY = {"RETENTION": 10 * MINUTE}
    with in_zone("UTC"):
        finished(1, age=11 * MINUTE, user=ADA, prefix="over-")
        finished(1, age=9 * MINUTE, user=ADA, prefix="young-")
    with in_zone(session):
        assert retention.retire() == 1
    assert keys() == ["young-1"]


@pytest.mark.parametrize("shift", [+6, -6])
def test_thirty_days_are_720_hours_also_where_the_clocks_were_changed(
    stage_: Stage, shift: int
) -> None:
    """In a zone whose clocks jumped six hours ten days ago, thirty calendar days are not 720 hours."""
    finished(1, age=30 * DAY + 3 * HOUR, user=ADA, prefix="over-")
    finished(1, age=30 * DAY - 3 * HOUR, user=ADA, prefix="young-")
    with in_zone(clocks_changed(shift)):
        assert retention.retire() == 1
    assert keys() == ["young-1"], "an answer was deleted hours before its time"


class in_zone:  # noqa: N801  it reads as a sentence
    """The session's time zone, for a while."""

    def __init__(self, zone: str) -> None:
        self.zone = zone

    def __enter__(self) -> None:
        self._set(self.zone)

    def __exit__(self, *_: object) -> None:
        self._set("UTC")

    def _set(self, zone: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('TimeZone', %s, false)", [zone])


def clocks_changed(hours: int) -> str:
    """A POSIX time zone that changed its offset by so many hours ten days ago."""
    day = (timezone.now() - 10 * DAY).timetuple().tm_yday
    end = (timezone.now() + 60 * DAY).timetuple().tm_yday
    return f"AAA0BBB{-hours},J{day}/0,J{end}/0"


def test_the_clean_up_is_served_by_its_index(stage_: Stage) -> None:
    finished(20_000, age=DAY, user=ADA, prefix="young-")
    finished(50, age=31 * DAY, user=ADA)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE idempotency_keys")
        cursor.execute(f"EXPLAIN {retention.RETIRE}", retention._values())
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Scan using idempotency_keys_final" in plan, plan
    assert "Index Cond: (completed_at <" in plan, f"it reads the whole index every night:\n{plan}"
    assert "Seq Scan" not in plan, f"it reads every key there is:\n{plan}"


def test_a_cached_answer_ends_before_its_row(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = succeeds
    first = ada.send(key)
    for age, longest in ((timedelta(0), DAY), (29.75 * DAY, DAY / 4), (DAY, timedelta(0))):
        grown_older(age)
        caches["default"].clear()
        assert ada.send(key).content == first.content
        left = timedelta(seconds=sum(map(caches["default"].ttl, caches["default"].keys("idem:*"))))
        assert longest - MINUTE <= left <= longest, (
            f"{left}: the cache answers for a row that is gone"
        )


def test_a_key_whose_row_is_gone_runs_again_where_nobody_keeps_its_reference(
    ada: Phone, stage_: Stage, key: str
) -> None:
    """What a project publishes that has RETENTION alone. A bank answers by reference instead."""
    stage_.act = succeeds
    ada.send(key)
    grown_older(31 * DAY)
    caches["default"].clear()
    retention.retire()
    assert (ada.send(key).status_code, effects()) == (201, 2)


def test_the_command_says_what_it_would_delete_and_leaves_it(stage_: Stage) -> None:
    finished(3, age=31 * DAY, user=ADA)
    assert command("--dry-run") == "would delete 3\n"
    assert len(keys()) == 3


def test_the_command_tells_its_progress(stage_: Stage, settings: Any) -> None:
    settings.IDEMPOTENCY = {"RETENTION_BATCH": 2}
    finished(3, age=31 * DAY, user=ADA)
    said = command("--only", "retention", verbosity=2)
    assert said == "deleted 2 so far\ndeleted 3 so far\ndeleted 3\n"


def test_a_step_that_fails_does_not_keep_the_others_and_is_named(
    stage_: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> int:
        raise OperationalError

    monkeypatch.setattr(sweeps, "recover_due", broken)
    finished(1, age=31 * DAY, user=ADA)
    with pytest.raises(CommandError, match="recovery failed"):
        command()
    assert keys() == [], "recovery that fails keeps the clean-up from its work"


def test_with_every_it_goes_on_whatever_one_round_met(
    stage_: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[float] = []

    def pause(seconds: float) -> None:
        rounds.append(seconds)
        if len(rounds) == 3:
            raise KeyboardInterrupt

    def once_broken() -> int:
        if not rounds:
            raise OperationalError
        finished(1, age=31 * DAY, user=ADA, prefix=f"round-{len(rounds)}-")
        return 0

    monkeypatch.setattr(sweep_idempotency.time, "sleep", pause)
    monkeypatch.setattr(sweeps, "recover_due", once_broken)
    with pytest.raises(KeyboardInterrupt):
        command("--every", "5", "--only", "recovery", "--only", "retention")
    assert (rounds, keys()) == ([5.0] * 3, []), "one bad round ended what nobody else does"


@pytest.mark.parametrize("work", [retention.retire])
def test_a_clean_up_inside_a_transaction_is_refused(stage_: Stage, work: Callable[[], int]) -> None:
    with pytest.raises(ImproperlyConfigured), transaction.atomic():
        work()
