"""Which events are on record, as the cache remembers it. It never decides: without it all the
same happens, at the price of a short transaction.

A key is set only after the commit of the row that it proves. Set before, a crash in between would
lose the event; set before the signature was checked, anybody could shut an event out.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.cache import caches
from django.db import DatabaseError, InterfaceError

from fulfilment.conf import conf
from fulfilment.webhooks.event import Event
from idempotency import redis_client, timeline
from idempotency.breaker import Breaker

log = logging.getLogger(__name__)

T = TypeVar("T")

_PREFIX = "idem:"

_breaker = Breaker(time.monotonic)  # per process: a cache that failed is left alone for a while


@dataclass(frozen=True, slots=True)
class Place:
    """One event's place in the cache, named before its row is written: the name holds the
    database's timeline, so a promotion that lost the row leaves a key that nobody reads.
    """

    name: str
    digest: str

    def proves(self) -> bool:
        """Is an event with this name and this content on record, as far as the cache knows?"""
        return _ask(lambda cache: cache.get(self.name)) == self.digest

    def set(self) -> None:
        """Remember that its row is committed. The first digest stays (NX)."""
        seconds = conf().cache_ttl.total_seconds()
        _ask(lambda cache: cache.add(self.name, self.digest, timeout=seconds))


def place_of(event: Event, *, digest: str) -> Place | None:
    """The event's place; None without a cache or while it is left alone."""
    if conf().cache is None or _breaker.rests:
        return None
    try:
        on = timeline.current()
    except (DatabaseError, InterfaceError):
        return None  # the insert will meet the same outage and say so
    return Place(
        f"{_PREFIX}{on}:{event.provider}:{event.account}:{event.mode}:{event.dedupe_key}", digest
    )


def forget_all() -> int:
    """Forget every event, after a restored backup: its row may be gone. Returns how many it found.

    Raises what the cache raises where it is not there.
    """
    alias = conf().cache
    return 0 if alias is None else redis_client.forget(alias, _PREFIX)


def _ask(question: Callable[[Any], T]) -> T | None:
    """Ask the cache; after an error of any kind it is left alone for BREAKER, then one tries it."""
    alias = conf().cache
    turn = None if alias is None else _breaker.let_in()
    if alias is None or turn is None:
        return None
    try:
        answer = question(caches[alias])
    except Exception:
        _breaker.failed(turn, rest=conf().breaker.total_seconds())
        log.warning("event filter left alone", extra={"action": "filter_skipped"}, exc_info=True)
        return None
    _breaker.worked(turn)
    return answer
