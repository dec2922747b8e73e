"""The settings of this app: the dict IDEMPOTENCY, with defaults that hold in production."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting in small letters; IDEMPOTENCY spells them in capitals."""

    cache: str | None = None  # alias in CACHES; None answers every replay from PostgreSQL
    cache_ttl: timedelta = timedelta(hours=24)
    scope: str = "idempotency.claims.authenticated_user"  # callable: request -> identity or None
    client: str = (
        "idempotency.clients.product"  # callable: Django's request -> who sent it, in a word
    )
    # For a roll-out to clients that send no keys yet: nobody is refused for a missing key, and who
    # sends none is counted. A request without one runs under a key of its own that nobody knows.
    observe: bool = False
    database: str = "default"  # alias of the guarded views' business rows
    problem_base_url: str = "/problems/"
    max_request_bytes: int = 1024 * 1024
    max_response_bytes: int = 1024 * 1024
    # Stored with an answer and sent with its replay; all other headers are the first answer's own.
    headers: tuple[str, ...] = (
        "Content-Type",
        "Content-Encoding",
        "Content-Language",
        "Content-Disposition",
        "Content-Location",
        "ETag",
        "Last-Modified",
        "Link",
        "Location",
        "Preference-Applied",
        "Retry-After",
        "Vary",
    )
    # What staff see of a stored answer: (operation, body, content_type) -> bytes. Never what is stored.
    redact: str = "idempotency.redaction.mask"
    breaker: timedelta = timedelta(seconds=5)  # how long a cache that failed is left alone
    # Single-use tokens: an alias in CACHES that is a Redis; None: nobody can issue or spend one.
    tokens: str | None = None
    token_lifetime: timedelta = timedelta(minutes=5)  # from issuing to the first use
    locks: str | None = None  # likewise, for locks; None: everybody goes on without
    # Unique constraints in which two NULLs may be two rows: {"app.Model.name" or "table.index": why}.
    nulls_allowed: Mapping[str, str] = field(default_factory=dict)
    # These bound how long a stopped process can hold a key; they apply to a claim's transaction.
    statement_timeout: timedelta = timedelta(seconds=10)
    lock_timeout: timedelta = timedelta(seconds=3)
    idle_timeout: timedelta = timedelta(seconds=15)
    # Leased mode. A key belongs to its request so long; a view may say otherwise. Longer than
    # deadline + margin, or a slow call would be taken for a dead process.
    lease: timedelta = timedelta(seconds=30)
    deadline: timedelta = timedelta(seconds=10)  # of the external call, from the mark to its end
    margin: timedelta = timedelta(seconds=5)  # clocks, the scheduler, our own statements
    action_lease: timedelta = timedelta(minutes=5)  # of a guarded action that does not say its own
    recheck_first: timedelta = timedelta(seconds=10)  # of an unknown outcome; then ever rarer
    recheck_last: timedelta = timedelta(hours=1)
    batch: int = 100  # keys per operation and run of the sweep: the next run takes the rest
    # How long a final answer is kept. Longer than CACHE_TTL, or the cache would outlive the record.
    retention: timedelta = timedelta(days=30)
    retention_batch: int = 1000  # rows per transaction of the clean-up: some ten milliseconds


NAMES = frozenset(field.name.upper() for field in fields(Settings))


@cache
def current() -> Settings:
    """The settings in force. Unknown names are left to the system check, which explains them."""
    given: dict[str, Any] = getattr(settings, "IDEMPOTENCY", {})
    return Settings(**{name.lower(): value for name, value in given.items() if name in NAMES})


def _forget(*, setting: str, **_: object) -> None:
    if setting == "IDEMPOTENCY":
        current.cache_clear()


setting_changed.connect(_forget, dispatch_uid="idempotency.conf")
