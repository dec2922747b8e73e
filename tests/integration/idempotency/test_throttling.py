"""Throttles answer before the key is looked at, and fail open when their cache does."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches

from idempotency.throttling import AnonRate, FailOpen, ScopedRate, UserRate
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.own_valkey import FAULTS, Server, own_valkey
from tests.integration.idempotency.stage import Stage, effects, rows, succeeds

pytestmark = [COMMITTING, pytest.mark.processes]

MARKER = "Idempotent-Replayed"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with own_valkey() as server:
        yield server


@pytest.fixture
def server(running: Server, settings: Any) -> Iterator[Server]:
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": running.url}}
    running.heal()
    yield running
    running.heal()


def send(phone: Phone, key: str) -> Any:
    return phone.send(key, path="/throttled/")


def test_too_many_requests_leave_a_fresh_key_unused(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = succeeds
    send(ada, "one")
    send(ada, "two")
    refused = send(ada, key)
    assert (refused.status_code, stage_.calls) == (429, 2)
    assert int(refused.headers["Retry-After"]) > 0
    assert key not in {name for name, _, _ in rows()}, "a throttled request used its key up"
    caches["default"].clear()  # the minute is over
    fresh = send(ada, key)
    assert (fresh.status_code, fresh.headers.get(MARKER)) == (201, None)


def test_replays_are_throttled_and_their_answer_stays(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = succeeds
    first, again, refused = (send(ada, key) for _ in range(3))
    assert (first.status_code, again.content, refused.status_code) == (201, first.content, 429)
    assert refused.headers.get(MARKER) is None
    caches["default"].clear()
    later = send(ada, key)
    assert (later.content, later.headers[MARKER], effects()) == (first.content, "true", 1)


@pytest.mark.parametrize("ignoring", [False, True], ids=["errors raised", "errors ignored"])
@pytest.mark.parametrize("fault", ["down", "frozen", "full", "read-only", "all errors"])
def test_with_the_cache_down_everybody_may_pass_and_nobody_waits_twice(
    ada: Phone,
    stage_: Stage,
    server: Server,
    settings: Any,
    key: str,
    fault: str,
    ignoring: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = settings.CACHES["default"]["OPTIONS"] | {"IGNORE_EXCEPTIONS": ignoring}
    settings.CACHES = {"default": settings.CACHES["default"] | {"OPTIONS": options}}
    stage_.act = succeeds
    FAULTS[fault](server)
    answers = [send(ada, key) for _ in range(4)]
    statuses = [answer.status_code for answer in answers]
    assert statuses == [201] * 4, f"{statuses}: nobody can pay while the cache is {fault}"
    assert effects() == 1
    tried = sum(getattr(record, "action", "") == "cache_skipped" for record in caplog.records)
    assert tried == 1, f"asked {tried} times while it was {fault}"


def test_garbage_in_place_of_the_counts_is_no_error(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = succeeds
    send(ada, key)
    [name] = caches["default"].keys("throttle_*")
    caches["default"].set(name, {"not": "a list"})
    assert send(ada, key).status_code == 201


@pytest.mark.parametrize("throttle", [UserRate, AnonRate, ScopedRate])
def test_every_kind_of_throttle_fails_open(throttle: type[Any]) -> None:
    assert throttle.cache is FailOpen.cache, "this one asks the cache itself and answers 500"
