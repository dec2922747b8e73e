"""What only a Redis can do must name one: a token that another cache keeps could be used twice, and a
lock in the memory of one process keeps nobody else out.
"""

from collections.abc import Iterator, Sequence

from django.conf import settings
from django.core.checks import CheckMessage, Error

from idempotency import conf
from idempotency.redis_client import BACKENDS


def check_servers(**_: object) -> Sequence[CheckMessage]:
    """TOKENS and LOCKS name a Redis, or nothing."""
    named = {"TOKENS": conf.current().tokens, "LOCKS": conf.current().locks}
    return [error for setting, alias in named.items() for error in _names_redis(setting, alias)]


def _names_redis(setting: str, alias: str | None) -> Iterator[CheckMessage]:
    if alias is None:
        return
    backend = settings.CACHES.get(alias, {}).get("BACKEND")
    if backend is None:
        yield _error(setting, alias, "is not in CACHES")
    elif backend not in BACKENDS:
        yield _error(setting, alias, f"is a {backend} and not a Redis")


def _error(setting: str, alias: str, why: str) -> Error:
    return Error(
        f"IDEMPOTENCY[{setting!r}] names {alias!r}, which {why}.",
        hint=f"Name an alias of CACHES with one of {', '.join(sorted(BACKENDS))}, or None.",
        id="idempotency.E020",
    )
