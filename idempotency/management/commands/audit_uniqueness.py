"""`manage.py audit_uniqueness`: which unique constraints of this project do not hold for NULL."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from idempotency import conf
from idempotency.nulls import report
from idempotency.nulls.report import Finding

_HEAD = ("verdict", "table", "constraint", "columns", "may be NULL", "form", "where", "reason")


class Command(BaseCommand):
    """Reads models and a database and changes neither; ends with 1 if something is unexplained."""

    help = (
        "List every unique constraint with a column that may be NULL, and what that means for it."
    )
    requires_system_checks = ()  # the list is wanted above all where they complain

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--format", choices=["table", "json"], default="table")
        parser.add_argument("--database", default="default", help="the alias of the live database")

    def handle(self, *args: Any, format: str, database: str, **options: Any) -> None:  # noqa: A002  the option's name
        findings = report.of_both(database)
        rows = [_row(found) for found in findings]
        if format == "json":
            self.stdout.write(json.dumps([_named(found) for found in findings], indent=2))
        else:
            self._table(rows, stale=_stale(findings))
        unexplained = sum(not found.explained for found in findings)
        if unexplained:
            raise CommandError(
                f"{unexplained} of {len(findings)} let equal rows in where a column is NULL, and nobody "
                "has said why: give a reason in IDEMPOTENCY['NULLS_ALLOWED'], or change them."
            )

    def _table(self, rows: list[tuple[str, ...]], *, stale: list[str]) -> None:
        if not rows:
            self.stdout.write("No unique constraint has a column that may be NULL.")
        else:
            widths = [max(len(row[n]) for row in [_HEAD, *rows]) for n in range(len(_HEAD))]
            for row in [_HEAD, tuple("-" * width for width in widths), *rows]:
                self.stdout.write("  ".join(map(str.ljust, row, widths)).rstrip())
        for label in stale:
            self.stdout.write(f"NULLS_ALLOWED names {label}, which is not in this list.")


def _row(found: Finding) -> tuple[str, ...]:
    unique = found.unique
    return (
        _verdict(found),
        unique.table,
        unique.name,
        ", ".join(unique.columns),
        ", ".join(sorted(unique.nullable)),
        str(found.form),
        found.where,
        found.reason,
    )


def _named(found: Finding) -> dict[str, Any]:
    unique = found.unique
    return {
        "verdict": _verdict(found),
        "table": unique.table,
        "constraint": unique.name,
        "labels": list(dict.fromkeys(unique.labels)),
        "columns": list(unique.columns),
        "nullable": sorted(unique.nullable),
        "form": found.form.name.lower(),
        "where": found.where,
        "reason": found.reason or None,
    }


def _verdict(found: Finding) -> str:
    if not found.explained:
        return "open"
    return "allowed" if found.reason else "holds"


def _stale(findings: Iterable[Finding]) -> list[str]:
    """Reasons for what is not there any more, or never was."""
    known = {label for found in findings for label in found.unique.labels}
    return sorted(set(conf.current().nulls_allowed) - known)
