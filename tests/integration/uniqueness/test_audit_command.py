"""`manage.py audit_uniqueness`: a list for people and for programs, and an exit code for pipelines."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.integration.uniqueness.strangers import table

pytestmark = pytest.mark.django_db


def audit(*arguments: str) -> tuple[str, str]:
    """(what it printed, why it ended with 1)."""
    out, why = StringIO(), ""
    try:
        call_command("audit_uniqueness", *arguments, stdout=out)
    except CommandError as error:
        why = f"{error} ({error.returncode})"
    return out.getvalue(), why


def test_the_command_lists_what_knows_null_and_fails_for_what_is_unexplained(
    settings: Any,
) -> None:
    table("UNIQUE (address, namespace)", "UNIQUE (address, kind)")
    printed, why = audit()
    [line] = [line for line in printed.splitlines() if "strangers" in line]
    assert line.split()[:3] == ["open", "strangers", "strangers_address_namespace_key"]
    assert why.startswith("1 of ")
    assert why.endswith("(1)"), "a pipeline would not notice"
    allowed = {"strangers.strangers_address_namespace_key": "a test", "nobody.there": "old"}
    settings.IDEMPOTENCY = settings.IDEMPOTENCY | {
        "NULLS_ALLOWED": settings.IDEMPOTENCY.get("NULLS_ALLOWED", {}) | allowed
    }
    printed, why = audit()
    assert why == ""
    assert "NULLS_ALLOWED names nobody.there, which is not in this list." in printed
    [row] = [r for r in json.loads(audit("--format", "json")[0]) if r["table"] == "strangers"]
    assert row | {"labels": []} == {
        "verdict": "allowed",
        "table": "strangers",
        "constraint": "strangers_address_namespace_key",
        "labels": [],
        "columns": ["address", "namespace"],
        "nullable": ["namespace"],
        "form": "open",
        "where": "database",
        "reason": "a test",
    }


def test_the_command_names_each_constraint_once_though_models_and_database_have_it() -> None:
    rows = json.loads(audit("--format", "json")[0])
    names = [(row["table"], tuple(row["columns"]), row["constraint"]) for row in rows]
    assert len(names) == len(set(names))
    missing = [row for row in rows if row["where"] == "models"]
    assert missing == [], "the database lacks what a model declares, or it was not recognised"
