"""A cache that may keep an answer waiting, forgets the wrong things, or lives with a queue."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.core.checks import CheckMessage
from django.core.checks import Warning as CheckWarning

from idempotency import conf, redis_client

_TIMEOUTS = ("socket_connect_timeout", "socket_timeout")
_LONGEST = 1.0  # seconds: it is there to save some ten milliseconds


def check_caches(**_: object) -> Sequence[CheckMessage]:
    """W010 and W015, of the caches that IDEMPOTENCY names, if they are Redis."""
    return [message for alias in _named() for message in _each(alias, settings.CACHES[alias])]


def check_cache_policy(**_: object) -> Sequence[CheckMessage]:
    """W016, with `manage.py check --deploy`: asks the server of CACHE what it does when it is full."""
    alias = conf.current().cache
    if alias not in _named():
        return []
    try:
        memory: Mapping[str, Any] = redis_client.client(alias).info("memory")
    except Exception:  # noqa: BLE001  not there while an image is built: no reason to stop that
        return []
    if memory.get("maxmemory_policy") != "noeviction" or not memory.get("maxmemory"):
        return []
    return [
        CheckWarning(
            f"The cache {alias!r} refuses every write once it is full (noeviction): from then on each "
            "replay is answered by PostgreSQL.",
            hint="Set maxmemory-policy to allkeys-lru or volatile-lru on this server, and give a "
            "queue a server of its own.",
            id="idempotency.W016",
        )
    ]


def _named() -> list[str]:
    backends = {name: cache.get("BACKEND") for name, cache in settings.CACHES.items()}
    names = {conf.current().cache, conf.current().tokens} - {None}
    return sorted(name for name in names if name and backends.get(name) in redis_client.BACKENDS)


def _each(alias: str, cache: Mapping[str, Any]) -> Iterator[CheckMessage]:
    long = [name for name in _TIMEOUTS if not 0 < _timeout(cache, name) <= _LONGEST]
    if long:
        yield CheckWarning(
            f"The cache {alias!r} may keep a request waiting for more than {_LONGEST:g} s: it has no "
            f"{' and no '.join(long)} as short as that.",
            hint="Set both in its OPTIONS to 0.2 or so (django-redis writes them in capitals): slow is "
            "as good as down, and PostgreSQL has the answer, too.",
            id="idempotency.W010",
        )
    broker = str(getattr(settings, "CELERY_BROKER_URL", None) or "")
    if any(_place(url) == _place(broker) for url in _locations(cache) if broker):
        yield CheckWarning(
            f"The cache {alias!r} and CELERY_BROKER_URL are one database of one Redis: clearing the "
            "cache, or its eviction, takes the queue's messages with it.",
            hint="Give them a server each, with a memory policy each, or at least two databases.",
            id="idempotency.W015",
        )


def _timeout(cache: Mapping[str, Any], name: str) -> float:
    """Seconds, wherever the two backends may be told; infinite where nobody says."""
    options = cache.get("OPTIONS", {})
    pool = options.get("CONNECTION_POOL_KWARGS", {})
    query = parse_qs(urlsplit(next(iter(_locations(cache)), "")).query)
    given = [options.get(name.upper()), options.get(name), pool.get(name), *query.get(name, ())]
    said = next((value for value in given if value is not None), None)
    return float("inf") if said is None else float(said)


def _locations(cache: Mapping[str, Any]) -> list[str]:
    location = cache.get("LOCATION", "")
    return location.split(",") if isinstance(location, str) else [str(each) for each in location]


def _place(url: str) -> tuple[Any, ...]:
    """Server and database: without a number it is 0."""
    parts = urlsplit(url)
    database = parse_qs(parts.query).get("db", [parts.path.strip("/") or "0"])[0]
    return parts.hostname, parts.port or 6379, database
