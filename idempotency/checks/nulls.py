"""Unique constraints that do not hold where a column is NULL: in models, and in the live database."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError, InterfaceError

from idempotency import conf
from idempotency.nulls import report
from idempotency.nulls.report import Finding

_ONE = (
    "If any number of rows without a value is meant, say so: a UniqueConstraint whose condition is that "
    "it is not NULL, or the reason in IDEMPOTENCY['NULLS_ALLOWED'][{label!r}]."
)
_MANY = (
    "Make it NOT NULL, or let the constraint know NULL: idempotency.uniqueness.unique_with_null() "
    "declares NULLS NOT DISTINCT or a pair of partial indexes. Is it meant? Then say why in "
    "IDEMPOTENCY['NULLS_ALLOWED'][{label!r}]."
)


def check_models(**_: object) -> Sequence[CheckMessage]:
    """Every installed app's models; and whether the reasons of the allow-list are any."""
    return [*_reasons(), *_warnings(report.of_models(), whose="declared")]


def check_databases(databases: Iterable[str] | None = None, **_: object) -> Sequence[CheckMessage]:
    """Every table of the named databases, for `manage.py check --database <alias>`.

    What the models say already is not said again; what somebody changed by hand, a migration that
    did not run and the tables of others are.
    """
    return [message for alias in databases or () for message in _of_database(alias)]


def _of_database(alias: str) -> Iterator[CheckMessage]:
    try:
        live = report.of_database(alias)
    except (DatabaseError, InterfaceError) as error:
        yield _warning(
            f"The unique constraints of the database {alias!r} cannot be read: {error}",
            hint="Check again when it answers: nobody knows whether they hold for NULL.",
        )
        return
    declared = report.of_models()
    told = [(found, report.twin(found, declared)) for found in live]
    fresh = [
        found
        for found, twin in told
        if twin is None or (twin.explained and not twin.reason)  # else said, or said why, there
    ]
    yield from _warnings(fresh, whose=f"in the database {alias!r}")


def _warnings(findings: Iterable[Finding], *, whose: str) -> Iterator[CheckMessage]:
    for found in findings:
        if not found.explained:
            unique = found.unique
            label = unique.labels[0]
            hint = _ONE if len(unique.columns) == 1 else _MANY
            yield _warning(
                f"{label} ({', '.join(unique.columns)}), {whose}, lets any number of equal rows in "
                f"where {' or '.join(sorted(unique.nullable))} is NULL: to SQL two NULLs differ.",
                hint=hint.format(label=label),
            )


def _reasons() -> Iterator[CheckMessage]:
    allowed: dict[Any, Any] = dict(conf.current().nulls_allowed)
    for label, reason in allowed.items():
        if not (isinstance(reason, str) and reason.strip()):
            yield Error(
                f"IDEMPOTENCY['NULLS_ALLOWED'][{label!r}] gives no reason.",
                hint="Say in a sentence why two rows with NULL may be equal here.",
                id="idempotency.E021",
            )


def _warning(text: str, *, hint: str) -> CheckWarning:
    return CheckWarning(text, hint=hint, id="idempotency.W001")
