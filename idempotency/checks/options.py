"""Every mistake in IDEMPOTENCY, in the database and the cache it names, and in the leases."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.utils.module_loading import import_string

from idempotency import conf, operations
from idempotency.checks import limits


def check_settings(**_: object) -> Sequence[CheckMessage]:
    """Every mistake in IDEMPOTENCY and in the database it names."""
    return [*_unknown_names(), *_scope(), *_redact(), *_cache(), *_database(), *_leases()]


def _unknown_names() -> Iterator[CheckMessage]:
    for name in sorted(set(getattr(settings, "IDEMPOTENCY", {})) - conf.NAMES):
        yield Error(
            f"IDEMPOTENCY has no setting {name!r}.",
            hint=f"Known are: {', '.join(sorted(conf.NAMES))}.",
            id="idempotency.E001",
        )


def _scope() -> Iterator[CheckMessage]:
    hint = "Name a function that takes the request and returns whose key it is, or None."
    yield from _callable("SCOPE", conf.current().scope, hint=hint, number="E002")


def _redact() -> Iterator[CheckMessage]:
    hint = "Name a function (operation, body, content_type) -> bytes: what staff may see."
    yield from _callable("REDACT", conf.current().redact, hint=hint, number="E022")


def _callable(name: str, path: str, *, hint: str, number: str) -> Iterator[CheckMessage]:
    try:
        usable = callable(import_string(path))
    except ImportError:
        usable = False
    if not usable:
        yield Error(
            f"IDEMPOTENCY[{name!r}] is {path!r}, which cannot be imported or called.",
            hint=hint,
            id=f"idempotency.{number}",
        )


def _cache() -> Iterator[CheckMessage]:
    alias = conf.current().cache
    if alias is not None and alias not in settings.CACHES:
        yield Error(
            f"IDEMPOTENCY['CACHE'] names {alias!r}, which is not in CACHES.",
            hint="Name an alias of CACHES, or None to answer every replay from PostgreSQL.",
            id="idempotency.E003",
        )
    elif alias is not None and _pickles(settings.CACHES[alias]):
        yield CheckWarning(
            f"The cache {alias!r} unpickles what it reads: whoever can write to it can run code here.",
            hint="Set a serializer of plain data in its OPTIONS: for django-redis 'SERIALIZER': "
            "'django_redis.serializers.json.JSONSerializer', for Django's RedisCache 'serializer': a "
            "class with dumps() and loads(). The answers of this app are text.",
            id="idempotency.W002",
        )


def _pickles(cache: dict[str, Any]) -> bool:
    """True for the two Redis caches with their own serializers, or with one named after pickle."""
    option = {
        "django_redis.cache.RedisCache": "SERIALIZER",
        "django.core.cache.backends.redis.RedisCache": "serializer",
    }.get(cache.get("BACKEND", ""))
    if option is None:
        return False
    serializer = str(cache.get("OPTIONS", {}).get(option))
    return serializer in _PICKLING or "pickle" in serializer.lower()


def _database() -> Iterator[CheckMessage]:
    alias = conf.current().database
    database: dict[str, Any] = settings.DATABASES.get(alias, {})
    if "postgresql" not in database.get("ENGINE", "") and "postgis" not in database.get(
        "ENGINE", ""
    ):
        yield Error(
            f"IDEMPOTENCY['DATABASE'] names {alias!r}, which is not a PostgreSQL database.",
            hint="The guarantees are PostgreSQL's; name the alias of the business rows.",
            id="idempotency.E004",
        )
    yield from _isolation(alias, database.get("OPTIONS", {}))


def _leases() -> Iterator[CheckMessage]:
    if any(limits.wrong_kinds()):  # no length of time: there is nothing to compare
        return
    for operation, terms in operations.registered().items():
        if terms.lease <= terms.call:
            yield Error(
                f"The lease of {operation} ({terms.lease.total_seconds():g} s) must be longer than "
                f"its deadline + MARGIN ({terms.call.total_seconds():g} s): a slow call would be "
                "taken for a dead process, and no call could be made.",
                hint="Raise lease= or IDEMPOTENCY['LEASE'], or lower the deadline.",
                id="idempotency.E007",
            )


def _isolation(alias: str, options: dict[str, Any]) -> Iterator[CheckMessage]:
    level = options.get("isolation_level")
    text = str(options.get("options", "")).replace("\\ ", " ").lower()
    in_text = "default_transaction_isolation" in text and "read committed" not in text
    if in_text or (level is not None and int(level) != _READ_COMMITTED):
        yield Error(
            f"The database {alias!r} does not run at READ COMMITTED.",
            hint="Remove the isolation level: a claim that fails must see in its next statement "
            "the row that made it fail.",
            id="idempotency.E006",
        )


# Django's own serializer by its name, and what stands for the default of both caches.
_PICKLING = {"None", "django.core.cache.backends.redis.RedisSerializer"}
_READ_COMMITTED = 2  # psycopg.IsolationLevel.READ_COMMITTED
