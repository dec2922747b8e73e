"""Keys and business rows have to stand in one database, and that one has to be set up for both."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import connections, router

from idempotency import conf, routes
from idempotency.models import IdempotencyKey
from idempotency.routes import Guarded


def check_aliases(**_: object) -> Sequence[CheckMessage]:
    """E010, E011 and W011: by what the project's routers say."""
    alias = conf.current().database
    if alias not in settings.DATABASES:
        return []  # E004 says so
    return [*_own_table(alias), *_business_rows(alias)]


def check_isolation(
    *, databases: Sequence[str] | None = None, **_: object
) -> Sequence[CheckMessage]:
    """E006 as it is in force, with `manage.py check --database`: a role or database may set it, too."""
    alias = conf.current().database
    if alias not in (databases or ()) or connections[alias].vendor != "postgresql":
        return []
    with connections[alias].cursor() as cursor:
        cursor.execute("SHOW default_transaction_isolation")
        [level] = cursor.fetchone()
    return [] if level == "read committed" else [_isolation(alias, level)]


def _own_table(alias: str) -> Iterator[CheckMessage]:
    if not router.allow_migrate_model(alias, IdempotencyKey):
        yield Error(
            f"IDEMPOTENCY['DATABASE'] is {alias!r}, where DATABASE_ROUTERS allow no idempotency_keys.",
            hint="Let the router's allow_migrate() return True for the app 'idempotency' there.",
            id="idempotency.E010",
        )


def _business_rows(alias: str) -> Iterator[CheckMessage]:
    """What a guarded view writes is known of generic views; of others, which app they stand in."""
    seen: set[str] = set()
    for guarded in routes.guarded():
        model = _model_of(guarded)
        elsewhere = {router.db_for_write(model)} - {alias} if model else _of_app(guarded, alias)
        label = model._meta.label if model else _app_of(guarded)  # noqa: SLF001  Django's documented way
        if not elsewhere or label in seen:
            continue
        seen.add(label)
        yield _elsewhere(guarded, label=label, alias=alias, elsewhere=sorted(elsewhere))


def _elsewhere(guarded: Guarded, *, label: str, alias: str, elsewhere: list[str]) -> CheckMessage:
    kind, code = (Error, "E011") if "." in label else (CheckWarning, "W011")
    return kind(
        f"{guarded.guard.operation} is guarded in the database {alias!r}, but {label} is written to "
        f"{', '.join(map(repr, elsewhere))}: a key and what was done under it would not commit together.",
        hint="Set IDEMPOTENCY['DATABASE'] to the database of the business rows, or route them there.",
        id=f"idempotency.{code}",
    )


def _model_of(guarded: Guarded) -> Any:
    """The model of a generic view: of its queryset or its `model`."""
    queryset = getattr(guarded.view, "queryset", None)
    return getattr(queryset, "model", None) or getattr(guarded.view, "model", None)


def _of_app(guarded: Guarded, alias: str) -> set[str]:
    """Where the app of the view writes, if that is nowhere in our database."""
    app = apps.get_containing_app_config(_module(guarded))
    models = [] if app is None else list(app.get_models())
    written = {router.db_for_write(model) for model in models}
    return set() if alias in written else written


def _app_of(guarded: Guarded) -> str:
    app = apps.get_containing_app_config(_module(guarded))
    return "" if app is None else app.label


def _module(guarded: Guarded) -> str:
    module = str(getattr(guarded.outermost, "__module__", ""))
    return module if module in sys.modules else ""


def _isolation(alias: str, level: str) -> CheckMessage:
    return Error(
        f"The database {alias!r} runs at {level.upper()}, whatever its settings here say.",
        hint="ALTER ROLE or ALTER DATABASE … RESET default_transaction_isolation: a claim that fails "
        "must see in its next statement the row that made it fail.",
        id="idempotency.E006",
    )
