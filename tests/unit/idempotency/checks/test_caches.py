"""A cache that may keep an answer waiting, or lives with a queue, is named at start."""

from typing import Any

import pytest

from idempotency.checks import check_caches
from tests.unit.idempotency.checks.urlconf import ids

OURS = "django_redis.cache.RedisCache"
DJANGOS = "django.core.cache.backends.redis.RedisCache"
URL = "redis://cache:6379/0"
CAPITALS = {"SOCKET_TIMEOUT": 0.2, "SOCKET_CONNECT_TIMEOUT": 0.2}
SMALL = {"socket_timeout": 0.2, "socket_connect_timeout": 0.2}
IN_URL = f"{URL}?socket_timeout=0.2&socket_connect_timeout=0.2"


def cached(settings: Any, backend: str, options: dict[str, Any], url: Any = URL) -> None:
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": url, "OPTIONS": options}}
    settings.IDEMPOTENCY = {"CACHE": "default"}


@pytest.mark.parametrize(
    ("backend", "options", "url", "said"),
    [
        (OURS, CAPITALS, URL, []),
        (OURS, {"CONNECTION_POOL_KWARGS": SMALL}, URL, []),
        (OURS, {}, IN_URL, []),
        (DJANGOS, SMALL, [URL, "redis://replica:6379/0"], []),
        (OURS, {}, URL, ["W010"]),
        (DJANGOS, {}, URL, ["W010"]),
        (OURS, CAPITALS | {"SOCKET_TIMEOUT": 5}, URL, ["W010"]),
        (OURS, {"SOCKET_TIMEOUT": 0.2}, URL, ["W010"]),
        ("django.core.cache.backends.locmem.LocMemCache", {}, "", []),
    ],
)
def test_a_cache_has_short_time_outs(
    settings: Any, backend: str, options: dict[str, Any], url: Any, said: list[str]
) -> None:
    cached(settings, backend, options, url)
    settings.CELERY_BROKER_URL = None
    assert ids(check_caches) == said


@pytest.mark.parametrize(
    ("broker", "said"),
    [
        ("redis://cache:6379/1", []),
        ("redis://queue:6379/0", []),
        ("amqp://cache:5672/", []),
        ("redis://:secret@cache:6379/0", ["W015"]),
        ("redis://cache", ["W015"]),
    ],
)
def test_a_cache_and_a_queue_in_one_place_are_named(
    settings: Any, broker: str, said: list[str]
) -> None:
    cached(settings, OURS, CAPITALS)
    settings.CELERY_BROKER_URL = broker
    assert ids(check_caches) == said


def test_without_a_cache_there_is_nothing_to_say(settings: Any) -> None:
    settings.IDEMPOTENCY = {"CACHE": None}
    assert ids(check_caches) == []
    settings.IDEMPOTENCY = {"CACHE": "nowhere"}
    assert ids(check_caches) == [], "that is E003's to say"
