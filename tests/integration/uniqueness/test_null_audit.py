"""W001 says what PostgreSQL does: where it warns, two equal rows get in, and nowhere else."""

from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Lower
from django.test.utils import isolate_apps

from idempotency import checks
from idempotency.nulls import in_models, report
from idempotency.nulls.rules import Form, form_of
from idempotency.uniqueness import unique_with_null
from tests.integration.uniqueness.strangers import table

pytestmark = pytest.mark.django_db

BLIND = "two equal rows are in the table, and the audit says that it keeps them apart"
SHY = "PostgreSQL keeps the rows apart, and the audit says that it does not"

HOLDS = [
    ["UNIQUE NULLS NOT DISTINCT (address, namespace)"],
    ["UNIQUE (address, kind)"],
    [
        "INDEX (address) WHERE namespace IS NULL",
        "INDEX (address, namespace) WHERE namespace IS NOT NULL",
    ],
    ["INDEX (address) WHERE namespace IS NULL", "UNIQUE (address, namespace)"],
    ["INDEX (address, (COALESCE(namespace, '')))"],
    ["INDEX (address, (namespace IS NULL))"],
    [
        "INDEX (address, namespace) WHERE kind = 'a'",
        "INDEX (address) WHERE kind = 'a' AND namespace IS NULL",
    ],
]
OPEN = [
    ["UNIQUE (address, namespace)"],
    ["UNIQUE (namespace)"],
    ["INDEX (address, namespace) WHERE namespace IS NULL"],
    ["INDEX (address, namespace) WHERE kind = 'a'"],
    ["INDEX (address, lower(namespace))"],
    ["INDEX (address, (COALESCE(namespace, number::text)))"],
    ["UNIQUE (address, namespace)", "INDEX (address) WHERE namespace IS NULL AND kind = 'b'"],
]


def lets_equal_rows_in() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO strangers (address, kind) VALUES ('x', 'a')")
        try:
            with transaction.atomic():
                cursor.execute("INSERT INTO strangers (address, kind) VALUES ('x', 'a')")
        except IntegrityError:
            return False
    return True


def warned(text: str = "strangers") -> list[Any]:
    found = checks.check_databases(["default"])
    return [message for message in found if text in message.msg]


@pytest.mark.parametrize("declared", HOLDS, ids=str)
def test_what_holds_in_postgresql_is_accepted(declared: list[str]) -> None:
    table(*declared)
    assert not lets_equal_rows_in(), "the test itself is wrong"
    assert warned() == [], SHY


@pytest.mark.parametrize("declared", OPEN, ids=str)
def test_what_lets_equal_rows_in_is_named(declared: list[str]) -> None:
    table(*declared)
    assert lets_equal_rows_in(), "the test itself is wrong"
    [found] = warned()
    assert (found.id, "NULL" in found.msg) == ("idempotency.W001", True), BLIND
    assert "NULLS_ALLOWED" in found.hint


def test_rows_without_a_value_may_be_left_out_in_so_many_words() -> None:
    table("INDEX (number) WHERE number IS NOT NULL")
    [found] = [f for f in report.of_database("default") if f.unique.table == "strangers"]
    assert (found.form, warned()) == (Form.LEFT_OUT, [])


def test_a_reason_allows_it_and_an_empty_one_is_an_error(settings: Any) -> None:
    table("UNIQUE (namespace)")
    name = "strangers.strangers_namespace_key"
    given = settings.IDEMPOTENCY
    settings.IDEMPOTENCY = given | {"NULLS_ALLOWED": {name: "any number may have none"}}
    assert warned() == []
    settings.IDEMPOTENCY = given | {"NULLS_ALLOWED": {name: "  "}}
    [error] = [m for m in checks.check_models() if m.id == "idempotency.E021"]
    assert name in error.msg


def test_another_schema_is_read_under_its_full_name() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA annex")
        cursor.execute("CREATE TABLE annex.strangers (a int NOT NULL, b int, UNIQUE (a, b))")
    [found] = warned()
    assert "annex.strangers.strangers_a_b_key (a, b)" in found.msg


def test_a_partitioned_table_is_named_once() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE strangers (a int, b int, UNIQUE (a, b)) PARTITION BY RANGE (a)"
        )
        cursor.execute("CREATE TABLE strangers_1 PARTITION OF strangers FOR VALUES FROM (1) TO (9)")
    assert len(warned()) == 1


def test_a_database_that_does_not_answer_is_said_to_be_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from django.db import OperationalError

    def away(alias: str) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(report.in_database, "uniques", away)
    [found] = checks.check_databases(["default"])
    assert (found.id, "cannot be read" in found.msg) == ("idempotency.W001", True)


def models_of_every_kind() -> type[models.Model]:
    class Place(models.Model):  # noqa: DJ008
        address = models.TextField()
        namespace = models.TextField(null=True)  # noqa: DJ001
        label = models.TextField(null=True, unique=True)  # noqa: DJ001
        kind = models.TextField()

        class Meta:
            app_label = "bank"
            unique_together = [("address", "namespace")]
            constraints = [
                models.UniqueConstraint(fields=["address", "kind"], name="filled"),
                models.UniqueConstraint(
                    fields=["address", "namespace"], condition=Q(kind="a"), name="of_a_kind"
                ),
                models.UniqueConstraint(
                    fields=["address", "namespace"],
                    condition=Q(namespace__isnull=False) & Q(kind="b"),
                    name="left_out",
                ),
                models.UniqueConstraint(
                    fields=["kind", "namespace"], condition=~Q(namespace=None), name="not_none"
                ),
                models.UniqueConstraint(
                    fields=["address", "namespace"], condition=~Q(namespace="x"), name="not_x"
                ),
                models.UniqueConstraint(F("kind"), Lower("namespace").desc(), name="lowered"),
                models.UniqueConstraint(
                    "kind", Coalesce("namespace", models.Value("")), name="answered"
                ),
                models.UniqueConstraint(
                    fields=["kind", "namespace"],
                    condition=Q(kind="a") | Q(namespace=None),
                    name="either",
                ),
            ]

    return Place


@isolate_apps("ledgerline.bank")
def test_models_are_judged_by_what_they_declare() -> None:
    found = list(in_models.of_model(models_of_every_kind()))
    forms = {unique.name: form_of(unique, beside=found) for unique in found}
    assert forms == {
        "label": Form.OPEN,
        "address_namespace": Form.OPEN,
        "filled": Form.NO_NULL,
        "of_a_kind": Form.OPEN,
        "left_out": Form.LEFT_OUT,
        "not_none": Form.LEFT_OUT,
        "not_x": Form.OPEN,
        "lowered": Form.OPEN,
        "answered": Form.NO_NULL,
        "either": Form.OPEN,
    }
    assert found[0].labels == ("bank.Place.label", "bank_place.label")


@pytest.mark.parametrize("portable", [False, True])
@isolate_apps("ledgerline.bank")
def test_both_forms_of_our_own_declaration_hold_as_models_and_as_a_table(portable: bool) -> None:
    class Stranger(models.Model):  # noqa: DJ008
        address = models.TextField()
        kind = models.TextField()
        namespace = models.TextField(null=True)  # noqa: DJ001

        class Meta:
            app_label = "bank"
            db_table = "strangers"
            constraints = unique_with_null(
                fields=["address"], nullable="namespace", name="one", portable=portable
            )

    found = list(in_models.of_model(Stranger))
    wanted = {Form.PAIR, Form.NO_NULL} if portable else {Form.NOT_DISTINCT}
    assert {form_of(unique, beside=found) for unique in found} == wanted
    with connection.schema_editor() as editor:
        editor.create_model(Stranger)
    assert not lets_equal_rows_in()
    assert warned() == [], SHY


def test_a_constraint_that_only_the_models_make_whole_is_named_in_the_database() -> None:
    """Somebody made it anew by hand, on an old server, or without NULLS NOT DISTINCT."""
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE idempotency_actions DROP CONSTRAINT idempotency_actions_slot_taken"
        )
        cursor.execute(
            "CREATE UNIQUE INDEX idempotency_actions_slot_taken"
            " ON idempotency_actions (slot, action, target, key, namespace)"
        )
    [found] = warned("idempotency_actions.")
    assert "in the database" in found.msg


def test_ledgerline_itself_has_no_unexplained_null(db: None) -> None:
    found = [m for m in run_checks(databases=["default"]) if m.id == "idempotency.W001"]
    assert found == [], (
        "a unique constraint lets equal rows in: fix it, or say why in NULLS_ALLOWED"
    )
    call_command("audit_uniqueness", stdout=StringIO())
    call_command("check", databases=["default"], fail_level="WARNING")


def test_an_app_gives_the_reasons_for_its_own_models_and_for_nobody_elses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table("UNIQUE (namespace)")
    own = apps.get_app_config("fulfilment")
    strangers = {"strangers.strangers_namespace_key": "it is not theirs to say"}
    monkeypatch.setattr(own, "nulls_allowed", own.nulls_allowed | strangers)
    assert len(warned()) == 1
    monkeypatch.setattr(own, "nulls_allowed", {})
    [found] = checks.check_models()
    assert "fulfilment.ProviderEvent.evidence (evidence_id)" in found.msg
    assert warned("fulfilment") == [], "said twice: by the models and by the database"
