"""Redis never decides: down, slow, flushed or lying, the answers are the same (34; C053-C055)."""

import pickle
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.http import HttpResponse
from rest_framework.response import Response

from idempotency import Answer, Refusal, cache, complete, store, timeline
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


def pay(request: Any) -> Response:
    return Response({"n": effect(request)}, status=201)


def cached() -> list[str]:
    return sorted(caches["default"].keys(f"idem:*:{ADA}:*"))


@contextmanager
def black_hole() -> Iterator[str]:
    """A server that accepts connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(16)
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


@contextmanager
def nobody() -> Iterator[str]:
    """An address where nothing listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    yield f"redis://127.0.0.1:{port}/0"


def elsewhere(settings: Any, url: str) -> None:
    """As ledgerline configures it, with the server somewhere else."""
    settings.CACHES = {
        "default": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": url,
            "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 0.2, "SOCKET_TIMEOUT": 0.2},
        }
    }


@pytest.mark.parametrize("outage", [nobody, black_hole])
def test_without_redis_the_answers_are_the_same_and_soon(
    ada: Phone, stage_: Stage, key: str, settings: Any, outage: Any
) -> None:
    stage_.act = pay
    with outage() as url:
        elsewhere(settings, url)
        began = time.monotonic()
        first, again = ada.send(key), ada.send(key)
        other = ada.send(key, {"amount": 2})
        took = time.monotonic() - began
    assert (first.status_code, again.content, other.status_code) == (201, first.content, 422)
    assert again.headers[MARKER] == "true"
    assert effects() == 1
    assert took < 2, f"three requests took {took:.1f} s: the breaker does not stop asking"


def test_a_cache_that_failed_is_asked_again_after_the_breaker_time(
    ada: Phone, stage_: Stage, key: str, settings: Any, monkeypatch: Any
) -> None:
    stage_.act = pay
    good = settings.CACHES
    with nobody() as url:
        elsewhere(settings, url)
        ada.send(key)
    settings.CACHES = good
    ada.send(key)
    assert cached() == [], "the cache was asked while it was to be left alone"
    breaker = cache.breaker("default")
    monkeypatch.setattr(breaker, "clock", lambda: time.monotonic() + 5)
    ada.send(key)
    assert len(cached()) == 1
    assert not breaker.rests, "a cache that answers again is still left alone"


def test_a_flush_between_two_requests_changes_nothing(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = pay
    first = ada.send(key)
    caches["default"].clear()
    again = ada.send(key)
    assert (again.content, again.headers[MARKER], effects()) == (first.content, "true", 1)


def test_the_cache_is_written_after_the_answer_was_sent_and_answers_without_postgresql(
    ada: Phone, stage_: Stage, key: str, django_assert_num_queries: Any
) -> None:
    stage_.act = pay
    first = ada.send(key)
    assert cached() == [f"idem:{timeline.current()}:{ADA}:{key}"]
    with django_assert_num_queries(0):
        again = ada.send(key)
        other = ada.send(key, {"amount": 2})
    assert (again.content, again.headers[MARKER]) == (first.content, "true")
    assert other.status_code == 422


def test_an_answer_that_invites_a_new_key_is_not_cached(
    ada: Phone, stage_: Stage, key: str
) -> None:
    class NoMoney(Refusal):
        """No money."""

        code = "no_money"

    def act(request: Any) -> Response:
        raise NoMoney

    stage_.act = act
    first, again = ada.send(key), ada.send(key)
    assert (again.content, again.headers[MARKER]) == (first.content, "true")
    assert cached() == [], "a correction of this refusal would be hidden by the cache"


def test_a_completed_key_is_cached_once_its_transaction_has_committed(
    ada: Phone, stage_: Stage, key: str, django_assert_num_queries: Any
) -> None:
    stage_.act = lambda request: request.idempotency.defer(Response(status=202))
    ada.send(key)
    assert cached() == [], "a provisional answer was cached"
    complete(ADA, key, Answer(201, (("Content-Type", "text/plain"),), b"\x00done"))
    with django_assert_num_queries(0):
        assert ada.send(key).content == b"\x00done"


def test_an_answer_of_a_lost_timeline_is_never_read(
    ada: Phone, stage_: Stage, key: str, monkeypatch: Any
) -> None:
    stage_.act = pay
    monkeypatch.setattr(timeline, "_known", {"default": ("0000000F", time.monotonic())})
    ada.send(key)
    monkeypatch.setattr(timeline, "_known", {})
    name = cached()[0]
    assert name.startswith("idem:0000000F:")
    caches["default"].set(name, "poison")
    assert ada.send(key).json() == {"n": 1}


HEAD = '["{key}","{print}",201,[["X","a\\r\\nSet-Cookie: b"]]]'


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "[]\n",
        "not json\n",
        "text",
        None,
        7,
        {"a": 1},
        "[" * 10_000,
        HEAD + "\n",
        HEAD + "\n\u20ac",
    ],
    ids=lambda garbage: repr(garbage)[:20],
)
def test_garbage_in_the_cache_is_no_answer(
    ada: Phone, stage_: Stage, key: str, garbage: Any
) -> None:
    stage_.act = pay
    first = ada.send(key)
    _, fingerprint, _ = cache._unpacked(caches["default"].get(cached()[0]))
    if isinstance(garbage, str):
        garbage = garbage.replace("{key}", key).replace("{print}", fingerprint)
    caches["default"].set(cached()[0], garbage)
    assert ada.send(key).content == first.content


def serialized(settings: Any, by: str) -> None:
    """The same cache with another way to write its entries."""
    options = {"OPTIONS": {"SERIALIZER": f"django_redis.serializers.{by}"}}
    settings.CACHES = {"default": settings.CACHES["default"] | options}


@pytest.mark.parametrize("by", ["json.JSONSerializer", "pickle.PickleSerializer"])
def test_every_byte_survives_in_every_serializer(
    ada: Phone, stage_: Stage, key: str, settings: Any, by: str, django_assert_num_queries: Any
) -> None:
    serialized(settings, by)
    stage_.act = lambda request: HttpResponse(bytes(range(256)), content_type="image/png")
    first = ada.send(key)
    with django_assert_num_queries(0):
        again = ada.send(key)
    assert (again.content, again.headers["Content-Type"]) == (first.content, "image/png")


class Bomb:
    """What somebody who can write to Redis leaves there."""

    went_off = False

    def __reduce__(self) -> Any:
        return setattr, (Bomb, "went_off", True)


@pytest.mark.parametrize("left", [pickle.dumps(Bomb()), b"\xff\xfe", b"{"], ids=repr)
def test_bytes_that_somebody_left_in_redis_run_nothing_and_are_written_over(
    ada: Phone, stage_: Stage, key: str, settings: Any, left: bytes, django_assert_num_queries: Any
) -> None:
    serialized(settings, "json.JSONSerializer")
    stage_.act = pay
    first = ada.send(key)
    redis = caches["default"].client.get_client(write=True)
    redis.set(str(caches["default"].client.make_key(cached()[0])), left)
    assert ada.send(key).content == first.content
    assert not Bomb.went_off, "a cached answer ran code"
    assert not cache.breaker("default").rests, "one bad entry switched the whole cache off"
    with django_assert_num_queries(0):
        assert ada.send(key).content == first.content


def test_keys_of_every_length_and_look_have_a_place(ada: Phone, stage_: Stage) -> None:
    stage_.act = pay
    odd = ["k" * 255, "a:b:c", "../../x", "*", "k%0d%0aX", "'; DROP TABLE x--"]
    for name in [o.replace(" ", "_") for o in odd]:
        first, again = ada.send(name), ada.send(name)
        assert (again.content, again.headers[MARKER]) == (first.content, "true")
    assert effects() == len(odd)


def test_a_database_that_does_not_tell_its_timeline_is_asked_once_and_no_answer_is_cached(
    ada: Phone, stage_: Stage, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosted databases may refuse the functions of the write-ahead log."""
    stage_.act = pay
    monkeypatch.setattr(timeline, "_untold", set())
    monkeypatch.setattr(
        store, "LOOK", store.LOOK.replace("pg_current_wal_insert_lsn()", "stage_refuses()")
    )
    with connection.cursor() as cursor:
        cursor.execute(REFUSES)
    try:
        first, again = ada.send(key), ada.send(key)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION stage_refuses")
    assert (first.status_code, again.content, effects()) == (201, first.content, 1)
    assert again.headers[MARKER] == "true"
    assert (cached(), timeline.is_told()) == ([], False)


REFUSES = """
CREATE FUNCTION stage_refuses() RETURNS pg_lsn LANGUAGE plpgsql AS $$
BEGIN RAISE 'not here' USING ERRCODE = 'feature_not_supported'; END $$
"""
