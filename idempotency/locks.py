"""Locks that save work and never decide: what they keep from happening twice may happen twice.

    with locks.held("nightly-report", ttl=timedelta(minutes=5)) as lock:
        if not lock.busy:
            …

The lock is redis-py's: a token of its own, and release and extension compare it in one step. So a
holder whose lock has expired cannot free that of the next one. Without Redis everybody goes on.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from idempotency import conf, redis_client

log = logging.getLogger("idempotency")

_NO_WAIT = timedelta(0)


@dataclass(slots=True)
class Held:
    """What became of asking for the lock. `busy`: somebody else has it, and is at the work.

    Neither `busy` nor `owned`: nobody knows, because there is no Redis, or it does not answer.
    """

    name: str
    ttl: timedelta
    busy: bool = False
    owned: bool = False
    lock: Any = field(default=None, repr=False)

    def extend(self) -> bool:
        """Begin the lock's life anew, if it is still ours; False if not. Never raises for Redis."""
        if self.owned:
            self.owned = _taken(self, lambda: self.lock.extend(self._seconds, replace_ttl=True))
        return self.owned

    def release(self) -> None:
        """Free the lock if it is still ours. One that has expired is logged: the work is done."""
        if self.owned:
            _taken(self, self.lock.release)
            self.owned = False

    @property
    def _seconds(self) -> float:
        return self.ttl.total_seconds()


@contextmanager
def held(name: str, *, ttl: timedelta, wait: timedelta = _NO_WAIT) -> Iterator[Held]:
    """The lock `name`, for at most `ttl` unless extended; asks for it for as long as `wait`.

    Always enters: look at `busy`. Nothing about the lock is ever raised, so what was done inside
    stays done, whether the lock lasted or not.
    """
    lock = _asked(name, ttl=ttl, wait=wait)
    try:
        yield lock
    finally:
        lock.release()


def _asked(name: str, *, ttl: timedelta, wait: timedelta) -> Held:
    alias, asked = conf.current().locks, Held(name, ttl)
    if alias is None:
        return asked
    try:
        asked.lock = redis_client.client(alias).lock(
            redis_client.name(alias, f"lock:{name}"),
            timeout=ttl.total_seconds(),
            thread_local=False,  # whoever has the object has the lock, in any thread
        )
        asked.owned = asked.lock.acquire(
            blocking=wait > _NO_WAIT, blocking_timeout=wait.total_seconds() or None
        )
        asked.busy = not asked.owned
    except redis_client.outages():
        _missing(name)
    else:
        _there()
    return asked


def _taken(lock: Held, step: Callable[[], object]) -> bool:
    """Could Redis take the step? Not with a lock that is lost, nor while Redis is not there."""
    try:
        step()
    except redis_client.lost_lock():
        about = {"action": "lock_expired", "lock": lock.name}
        log.warning("lock expired before its work was done", extra=about)
    except redis_client.outages():
        _missing(lock.name)
    else:
        return True
    return False


_told = False  # per process: an outage is one line and not one for each round


def _missing(name: str) -> None:
    global _told
    if not _told:
        about = {"action": "locks_unavailable", "lock": name}
        log.warning("going on without locks", extra=about, exc_info=True)
    _told = True


def _there() -> None:
    global _told
    _told = False
