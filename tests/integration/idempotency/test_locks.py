"""Locks save work and never decide: expired, lost or without a server, the work stays done."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.http import JsonResponse

from idempotency import locks, redis_client
from idempotency.checks import check_servers
from tests.connectors.sandbox import until
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects

pytestmark = COMMITTING

LONG, SHORT = timedelta(seconds=30), timedelta(milliseconds=50)
FREED = "an expired holder freed the lock of its successor: release does not compare the token"


@pytest.fixture(autouse=True)
def _locks(settings: Any) -> Iterator[None]:
    settings.IDEMPOTENCY = {"CACHE": "default", "LOCKS": "default"}
    locks._told = False
    yield
    locks._told = False


def expired(name: str) -> None:
    """Waits until Redis has dropped the lock by itself."""
    key = redis_client.name("default", f"lock:{name}")
    until(lambda: not redis_client.client("default").exists(key), what="the lock to expire")


def actions(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = (getattr(record, "action", "") for record in caplog.records)
    return [action for action in found if action.startswith("lock")]


def test_a_second_holder_is_told_that_somebody_is_at_it_and_comes_in_afterwards() -> None:
    with locks.held("loop", ttl=LONG) as first, locks.held("loop", ttl=LONG) as second:
        assert (first.owned, first.busy) == (True, False)
        assert (second.owned, second.busy) == (False, True)
        with locks.held("another", ttl=LONG) as other:
            assert other.owned
    with locks.held("loop", ttl=LONG) as next_one:
        assert next_one.owned, "a holder left, and its lock stayed"


def test_an_expired_holder_does_not_free_its_successor(caplog: pytest.LogCaptureFixture) -> None:
    """A thread for each holder."""
    first_is_in, second_is_in = threading.Event(), threading.Event()
    first_is_out, over = threading.Event(), threading.Event()

    def first() -> None:
        with locks.held("loop", ttl=SHORT) as lock:
            assert lock.owned
            first_is_in.set()
            second_is_in.wait(10)
        first_is_out.set()

    def second() -> None:
        first_is_in.wait(10)
        expired("loop")
        with locks.held("loop", ttl=LONG) as lock:
            assert lock.owned
            second_is_in.set()
            over.wait(10)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    try:
        assert first_is_out.wait(10)
        with locks.held("loop", ttl=LONG) as third:
            assert third.busy, FREED
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert actions(caplog) == ["lock_expired"], "nobody hears that the lock's life is too short"


def test_an_expired_holder_cannot_extend_its_successors_lock() -> None:
    with locks.held("loop", ttl=SHORT) as first:
        expired("loop")
        with locks.held("loop", ttl=LONG) as second:
            assert first.extend() is False
            assert (first.owned, second.extend()) == (False, True), FREED


def test_an_extended_lock_lives_on() -> None:
    with locks.held("loop", ttl=LONG) as lock:
        key = redis_client.name("default", "lock:loop")
        redis_client.client("default").pexpire(key, 5_000)
        assert lock.extend() is True
        assert redis_client.client("default").pttl(key) > 25_000


def test_work_that_outlasts_its_lock_is_done_and_answered(
    ada: Phone, stage_: Stage, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C057: leaving an expired lock must not turn a finished job into a failure."""

    def act(request: Any) -> JsonResponse:
        with locks.held("loop", ttl=SHORT):
            expired("loop")
            return JsonResponse({"n": effect(request)}, status=201)

    stage_.act = act
    first, again = ada.send(key), ada.send(key)
    assert (first.status_code, again.content, effects()) == (201, first.content, 1)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert actions(caplog) == ["lock_expired"]


def test_a_failure_inside_passes_and_frees_the_lock() -> None:
    with pytest.raises(ZeroDivisionError), locks.held("loop", ttl=LONG):
        raise ZeroDivisionError
    with locks.held("loop", ttl=LONG) as lock:
        assert lock.owned


def test_whoever_waits_gets_the_lock_when_it_is_free() -> None:
    with locks.held("loop", ttl=timedelta(milliseconds=200)):
        with locks.held("loop", ttl=LONG, wait=timedelta(seconds=10)) as patient:
            assert patient.owned
        with locks.held("loop", ttl=LONG) as kept, locks.held("loop", ttl=LONG, wait=SHORT) as not_:
            assert (kept.owned, not_.busy) == (True, True)


def test_without_redis_the_work_goes_on_and_one_line_says_so(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    there = settings.CACHES
    settings.CACHES = {"default": there["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
    for _ in range(2):
        with locks.held("loop", ttl=LONG) as lock:
            assert (lock.owned, lock.busy, lock.extend()) == (False, False, False)
    assert actions(caplog) == ["locks_unavailable"], "an outage is one line, not one each round"
    settings.CACHES = there
    with locks.held("loop", ttl=LONG) as lock:
        assert lock.owned
        settings.CACHES = {"default": there["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
        lock.lock.redis = redis_client.client("default")
        assert lock.extend() is False
    assert actions(caplog) == ["locks_unavailable", "locks_unavailable"]


def test_without_the_setting_everybody_goes_on(settings: Any) -> None:
    settings.IDEMPOTENCY = {"CACHE": "default"}
    with locks.held("loop", ttl=LONG), locks.held("loop", ttl=LONG) as second:
        assert (second.owned, second.busy) == (False, False)


def test_only_a_redis_may_keep_locks(settings: Any) -> None:
    assert check_servers() == []
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    settings.CACHES = settings.CACHES | {"memory": memory}
    settings.IDEMPOTENCY = {"LOCKS": "memory"}
    [found] = check_servers()
    assert (found.id, "LOCKS" in found.msg) == ("idempotency.E020", True)
