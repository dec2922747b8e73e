"""REST framework's throttles, for a cache that may be down: then nobody is turned away.

REST framework keeps its counts in a cache and answers 500 when that does not answer. A limit keeps
one caller from taking too much; it must not keep everybody from paying. With these, a cache that is
down, slow, full or read-only counts nothing, costs one short time-out in BREAKER, and lets pass.

A throttle runs before the guarded handler, on every replay too: its 429 leaves the key untouched.
"""

from typing import Any

from rest_framework.throttling import (
    AnonRateThrottle,
    ScopedRateThrottle,
    UserRateThrottle,
)

from idempotency import cache


class Counts:
    """The part of a cache that a throttle uses; an outage reads as "nothing counted yet"."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def get(self, key: str, default: Any = None) -> Any:
        """The times of earlier requests, or the default."""
        found = cache.ask(self._alias, lambda counts: counts.get(key))
        return found if isinstance(found, list) else default

    def set(self, key: str, value: Any, timeout: float | None = None) -> None:
        """Remember them, if that can be done."""
        cache.ask(self._alias, lambda counts: counts.set(key, value, timeout=timeout))


class FailOpen:
    """Mix into any SimpleRateThrottle, in front of it. Its counts are in the cache `default`;
    `cache = Counts("other")` names another."""

    cache: Any = Counts("default")


class UserRate(FailOpen, UserRateThrottle):
    """REST framework's UserRateThrottle, failing open."""


class AnonRate(FailOpen, AnonRateThrottle):
    """REST framework's AnonRateThrottle, failing open."""


class ScopedRate(FailOpen, ScopedRateThrottle):
    """REST framework's ScopedRateThrottle, failing open."""
