"""Values of IDEMPOTENCY that cannot work: of the wrong kind, too small, or in the wrong order."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning

from idempotency import conf

_COUNTS = ("batch", "retention_batch", "max_request_bytes", "max_response_bytes")
# PostgreSQL counts them in milliseconds, and takes 0 for "no limit".
_WAITS = ("idle_timeout", "statement_timeout", "lock_timeout")
_SHORTEST = timedelta(milliseconds=1)


def check_limits(**_: object) -> Sequence[CheckMessage]:
    """E018 alone if a value is of the wrong kind; else E014, E016, E017 and W018."""
    return list(wrong_kinds()) or [*_counts(), *_waits(), *_retention()]


def wrong_kinds() -> Iterator[CheckMessage]:
    """E018. Nothing else can be said of such a value, and other checks would stumble over it."""
    for field in fields(conf.Settings):
        kind, value = type(field.default), getattr(conf.current(), field.name)
        if kind in _KINDS and not isinstance(value, _KINDS[kind]):
            yield Error(
                f"IDEMPOTENCY[{field.name.upper()!r}] is {value!r}, which is no {_WORDS[kind]}.",
                hint=f"Write it like its default, {field.default!r}.",
                id="idempotency.E018",
            )


def _counts() -> Iterator[CheckMessage]:
    for name in _COUNTS:
        if getattr(conf.current(), name) < 1:
            yield Error(
                f"IDEMPOTENCY[{name.upper()!r}] is {getattr(conf.current(), name)}; nothing would "
                "ever be done or let through.",
                hint="Make it 1 or more.",
                id="idempotency.E017",
            )


def _waits() -> Iterator[CheckMessage]:
    limits = conf.current()
    for name in _WAITS:
        if getattr(limits, name) < _SHORTEST:
            yield Error(
                f"IDEMPOTENCY[{name.upper()!r}] is less than a millisecond, and PostgreSQL takes 0 "
                "for no limit: a process that stops would hold its key for ever.",
                hint=f"The default is {getattr(conf.Settings(), name).total_seconds():g} s.",
                id="idempotency.E014",
            )
    if limits.statement_timeout <= limits.lock_timeout:
        yield Error(
            "IDEMPOTENCY['STATEMENT_TIMEOUT'] must be longer than IDEMPOTENCY['LOCK_TIMEOUT']: a row "
            "that is busy would look like a database that is slow.",
            hint="Raise the one or lower the other; the inner time-out has to strike first.",
            id="idempotency.E014",
        )
    if limits.idle_timeout < limits.statement_timeout:
        yield CheckWarning(
            "IDEMPOTENCY['IDLE_TIMEOUT'] is shorter than IDEMPOTENCY['STATEMENT_TIMEOUT']: a handler "
            "may wait longer for the database than it may think between two statements.",
            hint="Raise it, unless no handler ever pauses inside its transaction.",
            id="idempotency.W018",
        )


def _retention() -> Iterator[CheckMessage]:
    limits = conf.current()
    if limits.retention < limits.cache_ttl:
        yield Error(
            f"IDEMPOTENCY['RETENTION'] ({limits.retention}) is shorter than IDEMPOTENCY['CACHE_TTL'] "
            f"({limits.cache_ttl}): a key is forgotten before clients have stopped to retry.",
            hint="Raise RETENTION (30 days by default) or lower CACHE_TTL.",
            id="idempotency.E016",
        )


_KINDS: dict[type, Any] = {timedelta: timedelta, int: int, tuple: list | tuple}
_WORDS = {timedelta: "timedelta", int: "whole number", tuple: "list or tuple"}
