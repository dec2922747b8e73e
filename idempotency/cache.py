"""A cache of finished answers. It never decides: without it the same answers come, a little slower."""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pickle import UnpicklingError
from typing import Any, TypeVar
from uuid import UUID

from django.core.cache import caches
from django.db import DatabaseError, InterfaceError

from idempotency import conf, redis_client, signals, timeline
from idempotency.breaker import Breaker
from idempotency.claims import Claim
from idempotency.contract import Answer, Replay, Reused
from idempotency.errors import VersionUnknown

log = logging.getLogger("idempotency")

T = TypeVar("T")

_PREFIX = "idem:"

_breakers: dict[str, Breaker] = {}


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one key's answer, named before the claim: on a lost timeline it is never read."""

    name: str
    key: str
    fingerprint: str

    def get(self, claim: Claim) -> Replay | Reused | None:
        """What the cache knows about the key; None if it knows nothing or cannot be asked."""
        asked = ask(conf.current().cache, lambda cache: (cache.get(self.name),))
        if asked is None:
            return None
        entry = _unpacked(asked[0]) if isinstance(asked[0], str) else None
        if entry is None or entry[0] != self.key:
            _tell("miss")
            return None
        _tell("hit")
        try:
            return Replay(entry[2]) if entry[1] == claim.fingerprint_like(entry[1]) else Reused()
        except VersionUnknown:  # the database says so as well, and how to go on
            return None

    def put(self, answer: Answer, *, age: timedelta = timedelta(0)) -> None:
        """Remember a final answer, unless it invites a new key: that one may still be corrected.

        An entry ends before RETENTION lets go of its row, which is no older than `age`: a key that
        runs again after that must not be answered by what it was once told.
        """
        limits = conf.current()
        seconds = min(limits.cache_ttl, limits.retention - age).total_seconds()
        if seconds > 0 and not answer.invites_new_key:
            packed = _packed(self.key, self.fingerprint, answer)
            ask(conf.current().cache, lambda cache: cache.set(self.name, packed, timeout=seconds))


def slot(claim: Claim) -> Slot | None:
    """The claim's place in the cache; None without a cache or while it is left alone.

    None, too, for a key that was made for a request without one: nobody will ask for it again. And
    while this process does not know the timeline: then the first look at the key asks for it.
    """
    alias = conf.current().cache
    if alias is not None and breaker(alias).rests:
        _tell("skipped", alias)
    return _slot(claim, timeline.known())


def slot_after_look(claim: Claim) -> Slot | None:
    """As `slot`, on the timeline that the claim's own first look found.

    What others have learnt since would be too late for a name: the answer may be lost on theirs.
    """
    return _slot(claim, claim.timeline)


def slot_of(scope: UUID, key: str, fingerprint: str) -> Slot | None:
    """As `slot`, for whoever has no claim."""
    if _rests():
        return None
    try:
        return Slot(_name(timeline.current(), scope, key), key, fingerprint)
    except (DatabaseError, InterfaceError):
        return None  # without its timeline no answer has a name


def forget_all() -> int:
    """Forget every answer, after a restored backup: its rows may be gone. Returns how many it found.

    Raises what the cache raises where it is not there.
    """
    alias = conf.current().cache
    return 0 if alias is None else redis_client.forget(alias, _PREFIX)


def _slot(claim: Claim, on: str | None) -> Slot | None:
    if claim.observed or on is None or _rests():
        return None
    return Slot(_name(on, claim.scope, claim.key), claim.key, claim.fingerprint)


def _name(on: str, scope: UUID, key: str) -> str:
    return f"{_PREFIX}{on}:{scope}:{key}"


def _rests() -> bool:
    alias = conf.current().cache
    return alias is None or breaker(alias).rests


def ask(alias: str | None, question: Callable[[Any], T]) -> T | None:
    """What the cache says to `question(cache)`; None if there is no cache or it cannot be asked.

    After an error of any kind, of a read or of a write, nobody in this process asks it for BREAKER;
    then one caller tries it for all. An entry that the serializer cannot read is no error: it is a
    miss, and is soon written over.
    """
    if alias is None:
        return None
    turn = breaker(alias).let_in()
    if turn is None:
        _tell("skipped", alias)
        return None
    try:
        answer = question(_outspoken(caches[alias]))
    except (ValueError, UnpicklingError):
        log.warning("cache entry not readable", extra={"action": "cache_unreadable"})
        _tell("unreadable", alias)
        answer = None
    except Exception:
        breaker(alias).failed(turn, rest=conf.current().breaker.total_seconds())
        log.warning(
            "cache left alone", extra={"action": "cache_skipped", "cache": alias}, exc_info=True
        )
        _tell("error", alias)
        return None
    breaker(alias).worked(turn)
    return answer


def breaker(alias: str) -> Breaker:
    """This process's one for the cache of that alias."""
    return _breakers.setdefault(alias, Breaker(time.monotonic))


def _tell(outcome: str, alias: str | None = None) -> None:
    signals.cache_asked.send_robust(sender=alias or conf.current().cache, outcome=outcome)


def _outspoken(cache: Any) -> Any:
    """The cache, such that its errors are heard.

    django-redis with IGNORE_EXCEPTIONS calls an outage a miss: each request would wait for the
    time-out of a server that is gone. The client below it has the same methods and raises.
    """
    return cache.client if getattr(cache, "_ignore_exceptions", False) else cache


def _packed(key: str, fingerprint: str, answer: Answer) -> str:
    """Plain text for any serializer: one line of JSON, then the body, a character for each byte."""
    head = [key, fingerprint, answer.status, answer.headers]
    return json.dumps(head, separators=(",", ":")) + "\n" + answer.body.decode("latin-1")


def _unpacked(packed: str) -> tuple[str, str, Answer] | None:
    """The entry; None for what this release would not have written."""
    head, _, body = packed.partition("\n")
    try:
        key, fingerprint, status, headers = json.loads(head)
        pairs = tuple((_line(name), _line(value)) for name, value in headers)
        if not 200 <= status < 500:
            return None
        return key, fingerprint, Answer(status, pairs, body.encode("latin-1"))
    except (ValueError, TypeError, RecursionError):
        return None


def _line(text: str) -> str:
    """A header's name or value. Raises ValueError for one that could not be sent."""
    if "\n" in text or "\r" in text:
        raise ValueError("a header is one line")
    return text
