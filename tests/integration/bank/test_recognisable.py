"""A recognisable account number, looked for everywhere (C047): only what must know it does."""

import logging
import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.cache import caches
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django_redis import get_redis_connection

from fulfilment.models import Fulfilment
from fulfilment.reconcile.evidence import Finding
from idempotency.models import IdempotencyKey
from ledgerline.bank.models import Account, Transfer
from ledgerline.logs import LineFormatter
from tests.integration.bank.conftest import customer
from tests.integration.bank.outside import row_of, says, sent
from tests.integration.bank.phone import B0, Phone

pytestmark = pytest.mark.django_db(transaction=True)

OURS = "0123456789"
THEIRS = "DE00TEST000000000001"
UNKNOWN = "0998877665"
NUMBERS = (OURS, THEIRS, UNKNOWN)

# What has to know a whole number, and nothing else: the account itself; whom the customer told us
# to pay; and what a worker has to tell the other bank, which a later look-up compares.
KEPT = {
    ("bank_account", "number"),
    ("bank_transfer", "to_account"),
    ("fulfilment", "instruction"),
}


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Transfers within the bank, to another bank and to nobody, retried and brought to an end."""
    caches["default"].clear()
    caplog.set_level(logging.DEBUG)
    ada = Phone(customer("ada", number="0123456780", funds=100_000))
    customer("bola", number=OURS)
    answers = [
        ada.pay(B0 | body, key=f"key-{number}")
        for number, body in enumerate(
            (
                {"toAccount": OURS},
                {"toAccount": THEIRS, "toBank": "058"},
                {"toAccount": UNKNOWN},
                {"toAccount": OURS, "amount": 95_000},
                {"toAccount": THEIRS, "toBank": "058", "amount": "1"},
            )
        )
        for _ in range(2)
    ]
    assert [a.status_code for a in answers[::2]] == [201, 202, 400, 400, 400]
    location = answers[2].headers["Location"]
    says(sent(row_of(location)), Finding.DONE)
    answers.append(ada.pay(B0 | {"toAccount": THEIRS, "toBank": "058"}, key="key-1"))
    assert answers[-1].status_code == 201
    answers += [ada.get(location), ada.get("/v1/transfers"), ada.get("/v1/accounts")]
    return [f"{a.content.decode()} {a.headers}" for a in answers]


def test_the_record_the_cache_and_every_answer_know_it_by_its_end_only(said: list[str]) -> None:
    assert IdempotencyKey.objects.exclude(status="in_progress").count() >= 4
    assert {found for text in said for found in NUMBERS if found in text} == set()
    assert in_tables() <= KEPT, f"account numbers are kept where nothing needs them: {in_tables()}"
    assert ("bank_transfer", "to_account") in in_tables(), "the search itself finds nothing"
    in_redis = [key for key, value in redis_entries() if any(n in value for n in NUMBERS)]
    assert redis_entries(), "nothing was cached, so the search says nothing"
    assert in_redis == [], "an account number is in Redis"


def test_no_log_line_shows_it(said: list[str], caplog: pytest.LogCaptureFixture) -> None:
    lines = [
        LineFormatter().format(record) for record in caplog.get_records("setup") if is_ours(record)
    ]
    assert len(lines) > 10
    assert [line for line in lines if any(number in line for number in NUMBERS)] == []


def is_ours(record: logging.LogRecord) -> bool:
    """Not the statements that Django's debug logger shows, which production never does."""
    return not record.name.startswith("django.db")


def test_no_list_in_the_admin_and_no_page_of_a_key_shows_it(said: list[str]) -> None:
    root = get_user_model().objects.create_superuser("root", password="secret")
    browser = Client()
    browser.force_login(root)
    pages = [
        f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for model in admin.site._registry
        if model._meta.app_label in {"bank", "fulfilment", "idempotency"}
    ]
    assert len(pages) > 8
    keys = [
        f"/admin/idempotency/keylisting/{k.user_id}_3A{k.key}/"
        for k in IdempotencyKey.objects.all()
    ]
    for page in [*pages, *(f"{key}change/" for key in keys)]:
        assert shown(browser.get(page)) == set(), f"{page} shows an account number"
    for key in keys:
        assert shown(browser.post(f"{key}open/", {"reason": "r"})) == set()
    transfers = [f"/admin/bank/transfer/{t.pk}/change/" for t in Transfer.objects.all()]
    cases = [f"/admin/fulfilment/fulfilment/{f.pk}/change/" for f in Fulfilment.objects.all()]
    for page in [*transfers, *cases]:
        assert shown(browser.get(page)) <= {"0123456780"}, f"{page} shows an account number"
    account = Account.objects.get(number=OURS)
    assert OURS in browser.get(f"/admin/bank/account/{account.pk}/change/").content.decode()


def test_after_the_clean_up_the_answers_are_gone(said: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE idempotency_keys SET created_at = created_at - interval '31 days',"
            " completed_at = completed_at - interval '31 days'"
        )
    call_command("sweep_idempotency", verbosity=0)
    assert IdempotencyKey.objects.count() == 0
    assert in_tables() <= KEPT


def shown(answer: Any) -> set[str]:
    assert answer.status_code == 200, answer
    text = answer.content.decode()
    return {number for number in NUMBERS if re.search(rf"(?<!\d){number}(?!\d)", text)}


def in_tables() -> set[tuple[str, str]]:
    """Every column of every table that holds one of the numbers, in text, JSON or bytes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c"
            " JOIN information_schema.tables t USING (table_schema, table_name)"
            " WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'"
        )
        columns = cursor.fetchall()
        found = set()
        for table, column, kind in columns:
            text = f"encode({column}, 'escape')" if kind == "bytea" else f'"{column}"::text'
            cursor.execute(
                f'SELECT EXISTS (SELECT 1 FROM "{table}" WHERE {text} ~ %s)', ["|".join(NUMBERS)]
            )
            if cursor.fetchone()[0]:
                found.add((table, column))
    return found


def redis_entries() -> list[tuple[str, str]]:
    """Everything that is in the cache's database, as text."""
    redis = get_redis_connection("default")
    return [
        (key.decode("latin-1"), (redis.get(key) or b"").decode("latin-1"))
        for key in redis.scan_iter()
        if redis.type(key) == b"string"
    ]
