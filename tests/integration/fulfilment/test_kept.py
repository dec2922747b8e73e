"""What is on record stays there: nothing is emptied, and a closed case says what it said."""

import pytest
from django.apps import apps
from django.db import connection, transaction

from fulfilment import store
from fulfilment.models import Case, CaseReason, Fulfilment
from fulfilment.reconcile import casebook
from fulfilment.reconcile.evidence import Finding
from fulfilment.testing import clean_fulfilments
from tests.integration.fulfilment.support import start
from tests.integration.fulfilment.test_move_guards import raw, refused
from tests.integration.fulfilment.walk import said

# Only the last moment, and how often; only what is so now.
NOT_RECORDS = {"fulfilment_pulse", "fulfilment_connector"}

pytestmark = pytest.mark.django_db


def tables() -> list[str]:
    models = apps.get_app_config("fulfilment").get_models()
    return sorted({m._meta.db_table for m in models if not m._meta.proxy} - NOT_RECORDS)


def test_every_table_of_records_refuses_to_be_emptied() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname LIKE '%_never_emptied'"
        )
        guarded = {table for (table,) in cursor.fetchall()}
    missing = set(tables()) - guarded
    assert not missing, f"TRUNCATE takes the records of {missing}: add <table>_never_emptied"


def test_a_table_with_records_is_not_truncated() -> None:
    said(start(), Finding.UNKNOWN, body=b"x")
    with connection.cursor() as cursor:
        cursor.execute(
            "SET CONSTRAINTS ALL IMMEDIATE"
        )  # TRUNCATE minds what is still to be checked
    for table in ("fulfilment", "fulfilment_evidence", "fulfilment_payload"):
        with refused(f"{table}_never_emptied"):
            raw(f"TRUNCATE {table} CASCADE")


def test_a_case_keeps_what_it_is_about_and_how_it_ended() -> None:
    row = start()
    case = casebook.open_case(row, reason=CaseReason.DEADLINE, actor="t")
    with refused("fulfilment_case_written_once"), transaction.atomic():
        Case.objects.filter(pk=case.pk).update(opened_by="me")
    casebook.close_case(row, actor="t", note="settled")
    for change in ({"closed_at": None}, {"closed_by": "me"}, {"closed_at": store.now()}):
        with refused("fulfilment_case_written_once"), transaction.atomic():
            Case.objects.filter(pk=case.pk).update(**change)


@pytest.mark.django_db(transaction=True)
def test_a_test_that_commits_rows_can_forget_them() -> None:
    said(start(), Finding.UNKNOWN, body=b"x")
    clean_fulfilments()
    assert not Fulfilment.objects.exists()
    said(start(), Finding.UNKNOWN)
    with refused("fulfilment_evidence_never_emptied"):
        raw("TRUNCATE fulfilment_evidence CASCADE")
