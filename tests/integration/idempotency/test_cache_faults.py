"""Whatever happens to a real cache, and whenever: the same answers, one effect, one short wait (34; C053-C055)."""

import time
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import pytest
from django.core.cache import caches

from idempotency import cache
from tests.concurrency.fulfilments import at_once
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.own_valkey import FAULTS, Server, own_valkey
from tests.integration.idempotency.stage import Stage, effects, succeeds

pytestmark = [COMMITTING, pytest.mark.processes]

MARKER = "Idempotent-Replayed"
HEARD = {"down", "frozen", "full", "read-only", "all errors"}  # by whoever asks


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with own_valkey() as server:
        yield server


@pytest.fixture
def server(running: Server, settings: Any) -> Iterator[Server]:
    """The cache of this test, configured as the service configures it."""
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": running.url}}
    running.heal()
    yield running
    running.heal()


def ignoring(settings: Any) -> None:
    """django-redis calls every outage a miss."""
    options = settings.CACHES["default"]["OPTIONS"] | {"IGNORE_EXCEPTIONS": True}
    settings.CACHES = {"default": settings.CACHES["default"] | {"OPTIONS": options}}


def assert_same_answers(phone: Phone, key: str, *, then: Callable[[], None]) -> None:
    """A first request, a replay, another body; `then` happens after the first."""
    first = phone.send(key)
    then()
    again, other = phone.send(key), phone.send(key, {"amount": 2})
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert (again.content, again.headers.get(MARKER)) == (first.content, "true")
    assert first.headers.get(MARKER) is None
    assert effects() == 1, f"{effects()} effects for one key: the cache decided"


def times_tried(caplog: pytest.LogCaptureFixture) -> int:
    return sum(getattr(r, "action", "") == "cache_skipped" for r in caplog.records)


@pytest.mark.parametrize("moment", ["before", "during", "after"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_cache_changes_no_answer_and_costs_one_short_wait(
    ada: Phone,
    stage_: Stage,
    server: Server,
    key: str,
    fault: str,
    moment: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caches["default"].set("warm-up", 1)  # the pool has a connection that the fault may break

    def strike(when: str) -> None:
        if when == moment:
            FAULTS[fault](server)

    def act(request: Any) -> Any:
        strike("during")
        return succeeds(request)

    stage_.act = act
    strike("before")
    began = time.monotonic()
    assert_same_answers(ada, key, then=lambda: strike("after"))
    took = time.monotonic() - began
    tried = times_tried(caplog)
    assert tried <= 1, f"asked {tried} times while it was {fault}: the breaker does not open"
    assert took < 5, f"three requests took {took:.1f} s while it was {fault}"
    if fault in HEARD and moment == "before":
        assert tried == 1, f"the fault {fault!r} was never met: this test proves nothing"


@pytest.mark.parametrize("fault", ["down", "frozen", "all errors"])
def test_errors_that_django_redis_ignores_are_heard_all_the_same(
    ada: Phone,
    stage_: Stage,
    server: Server,
    key: str,
    fault: str,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ignoring(settings)
    stage_.act = succeeds
    FAULTS[fault](server)
    assert_same_answers(ada, key, then=lambda: None)
    assert times_tried(caplog) == 1, "each request waits for a server that is gone"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_crowd_with_one_key_has_one_effect_while_the_cache_fails(
    ada: Phone, stage_: Stage, server: Server, key: str, fault: str
) -> None:
    stage_.act = succeeds
    FAULTS[fault](server)
    answers = at_once(*[lambda: ada.send(key)] * 8)
    statuses = sorted(getattr(answer, "status_code", answer) for answer in answers)
    assert set(statuses) <= {201, 409}, statuses
    fresh = [a for a in answers if a.status_code == 201 and not a.headers.get(MARKER)]
    assert (len(fresh), effects()) == (1, 1), "the crowd paid more than once, or not at all"
    assert ada.send(key).content == fresh[0].content, "a key stays in progress for ever"


def test_flushes_without_end_change_nothing(
    ada: Phone, stage_: Stage, server: Server, key: str
) -> None:
    stage_.act = succeeds
    enough = Event()

    def flush() -> None:
        while not enough.is_set():
            server.flush()

    flushing = Thread(target=flush)
    flushing.start()
    try:
        for n in range(5):
            name = f"{key}-{n}"
            [*together] = at_once(*[lambda name=name: ada.send(name)] * 3)
            assert {a.status_code for a in together} <= {201, 409}
            assert ada.send(name).status_code == 201
    finally:
        enough.set()
        flushing.join()
    assert effects() == 5, f"{effects()} effects for five keys"


def test_when_a_cache_is_back_one_request_of_many_tries_it_and_it_is_used_again(
    ada: Phone,
    stage_: Stage,
    server: Server,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    django_assert_num_queries: Any,
) -> None:
    stage_.act = succeeds
    server.freeze()
    first = ada.send(key)
    breaker = cache.breaker("default")
    ahead = {"seconds": 5.0}
    monkeypatch.setattr(breaker, "clock", lambda: time.monotonic() + ahead["seconds"])
    caplog.clear()
    crowd = at_once(*[lambda: ada.send(key)] * 8)
    assert {answer.content for answer in crowd} == {first.content}
    assert times_tried(caplog) == 1, f"{times_tried(caplog)} of 8 asked at once what is still down"
    server.heal()
    ahead["seconds"] = 10.0
    ada.send(key)
    with django_assert_num_queries(0):
        assert ada.send(key).content == first.content
