"""The Redis client behind a cache alias, for what a cache cannot say: scripts and locks.

Nothing here imports a client: whoever names a Redis in CACHES has one installed.
"""

import re
from itertools import islice
from typing import Any

from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured

# The backends whose client can be had; others (memory, files, a dummy) cannot do one step alone.
BACKENDS = frozenset(
    {"django_redis.cache.RedisCache", "django.core.cache.backends.redis.RedisCache"}
)


def client(alias: str) -> Any:
    """The client for writing. Raises ImproperlyConfigured if the alias is no Redis.

    It keeps the alias' time-outs, so a server that does not answer costs no more than they say.
    """
    backend: Any = caches[alias]
    if hasattr(getattr(backend, "client", None), "get_client"):  # django-redis
        return backend.client.get_client(write=True)
    if hasattr(getattr(backend, "_cache", None), "get_client"):  # Django's own has no other way in
        return backend._cache.get_client(None, write=True)  # noqa: SLF001
    raise ImproperlyConfigured(f"The cache {alias!r} is not a Redis.")


def name(alias: str, key: str) -> str:
    """The key as this alias spells it: with its prefix and version, as every other of its keys."""
    return str(caches[alias].make_key(key))


def forget(alias: str, prefix: str) -> int:
    """Delete every key of the alias that begins with `prefix`; returns how many it found.

    A cache that is no Redis cannot name its keys: it is emptied whole, and 0 is returned. Raises
    one of `outages` where the server is not there.
    """
    try:
        redis = client(alias)
    except ImproperlyConfigured:
        caches[alias].clear()
        return 0
    keys, found = redis.scan_iter(match=f"{_literal(name(alias, prefix))}*", count=500), 0
    while some := list(islice(keys, 500)):
        pipeline = redis.pipeline(transaction=False)
        for key in some:
            pipeline.unlink(key)
        found += sum(pipeline.execute())
    return found


def _literal(text: str) -> str:
    """The text as a pattern of Redis that matches itself alone."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)


def outages() -> tuple[type[Exception], ...]:
    """What a client raises when its server is not there, too slow, or refuses to work."""
    from redis.exceptions import RedisError  # whoever has a Redis in CACHES has it

    return (RedisError, OSError)


def lost_lock() -> type[Exception]:
    """What a lock raises that has expired; one of the outages, so it has to be caught before them."""
    from redis.exceptions import LockError

    return LockError
