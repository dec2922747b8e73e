"""A retry that comes when its key was cleaned away long ago is answered, and pays nothing (II.26, C048)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from rest_framework.exceptions import ValidationError

from fulfilment.reconcile.evidence import Finding
from idempotency import gate
from idempotency.models import IdempotencyKey
from ledgerline.bank.api.orders import OrderFields
from ledgerline.bank.models import Account, Posting, Transfer
from tests.integration.bank.conftest import fund, on_hand
from tests.integration.bank.outside import EXTERNAL, row_of, says, sent
from tests.integration.bank.phone import B0, Phone
from tests.integration.idempotency.old_keys import grown_older, keys

pytestmark = pytest.mark.django_db

MARKER = "Idempotent-Replayed"
LATE = timedelta(days=31)


@pytest.fixture
def key() -> str:
    return str(uuid4())


def clean_up_after(time: timedelta) -> None:
    """So much time passes, then the nightly clean-up runs; the cache has forgotten long before."""
    grown_older(time)
    call_command("sweep_idempotency", "--only", "retention", verbosity=0, skip_checks=True)
    cache.clear()


def pay(phone: Phone, key: str) -> Any:
    return phone.pay(EXTERNAL, key=key)


def becomes(*findings: Finding) -> Callable[[Phone, str], None]:
    """The other bank says so, one after the other; the phone is told after the first."""

    def end(phone: Phone, key: str) -> None:
        row = sent(row_of(pay(phone, key)["Location"]))
        for finding in findings:
            says(row, finding)
            pay(phone, key)

    return end


def is_cancelled(phone: Phone, key: str) -> None:
    assert phone.post(pay(phone, key)["Location"] + "/cancel").status_code == 200


ENDINGS: dict[str, tuple[Callable[[Phone, str], None], int]] = {
    "fulfilled": (becomes(Finding.DONE), 201),
    "reversed": (becomes(Finding.DONE, Finding.REVERSED), 201),
    "failed": (becomes(Finding.NOT_DONE), 400),
    "cancelled": (is_cancelled, 400),
}


@pytest.mark.parametrize("state", ENDINGS)
def test_it_gets_the_answer_that_its_transfer_stands_for(
    ada: Account, key: str, state: str
) -> None:
    phone = Phone(ada)
    end, status = ENDINGS[state]
    end(phone, key)
    told = pay(phone, key)
    assert (told.status_code, Transfer.objects.get().state) == (status, state)
    before = on_hand(ada), Posting.objects.count()
    clean_up_after(LATE)
    assert keys() == [], "the clean-up left a final answer of 31 days"
    for _ in range(2):  # rebuilt from the transfer, then from the key that is on record again
        late = pay(phone, key)
        assert (late.status_code, late.content) == (told.status_code, told.content)
        assert (late[MARKER], late["Location"]) == ("true", told["Location"])
    assert Transfer.objects.count() == 1, "a late retry paid a second time"
    assert (on_hand(ada), Posting.objects.count()) == before


@pytest.mark.parametrize("body", [B0, EXTERNAL], ids=["on us", "to another bank"])
def test_another_body_under_the_old_key_is_refused(
    ada: Account, bola: Account, key: str, body: dict[str, Any]
) -> None:
    phone = Phone(ada)
    phone.pay(body, key=key)
    if body is EXTERNAL:
        says(sent(row_of(pay(phone, key)["Location"])), Finding.DONE)
    clean_up_after(LATE)
    late = phone.pay(body | {"amount": 25_000}, key=key)
    problem = late.json()
    assert (late.status_code, problem["code"]) == (422, "key_reused")
    assert problem["type"].endswith("/problems/key_reused/")
    assert (Transfer.objects.count(), Transfer.objects.get().amount) == (1, 10_000)
    assert phone.pay(body, key=key).status_code == 201, "the refusal spoilt the old answer"


def test_an_on_us_transfer_answers_byte_for_byte_and_moves_nothing(
    ada: Account, bola: Account, key: str
) -> None:
    first = Phone(ada).pay(key=key)
    clean_up_after(LATE)
    late = Phone(ada).pay(key=key)
    assert (late.status_code, late.content, late[MARKER]) == (201, first.content, "true")
    assert (on_hand(ada), on_hand(bola)) == ((90_000, 0), (10_000, 0))


def test_an_open_transfer_keeps_its_key_however_long_it_takes(ada: Account, key: str) -> None:
    phone = Phone(ada)
    row = sent(row_of(pay(phone, key)["Location"]))
    clean_up_after(timedelta(days=365))
    waiting = pay(phone, key)
    assert (waiting.status_code, waiting.json()["state"]) == (409, "pending"), (
        "the key of an open transfer was cleaned away"
    )
    says(row, Finding.DONE)
    assert (pay(phone, key).status_code, Transfer.objects.count()) == (201, 1)


def test_a_refusal_is_answered_for_thirty_days_and_runs_again_after_that(
    ada: Account, bola: Account, key: str
) -> None:
    """Published: nothing came of it that could be remembered longer."""
    phone, large = Phone(ada), B0 | {"amount": 150_000}
    refused = phone.pay(large, key=key)
    assert (refused.status_code, refused.json()["code"]) == (400, "insufficient_balance")
    fund(ada, 100_000)
    clean_up_after(timedelta(days=29))
    assert phone.pay(large, key=key).content == refused.content, "forgotten before its time"
    clean_up_after(timedelta(days=2))
    late = phone.pay(large, key=key)
    assert (late.status_code, late.get(MARKER), on_hand(ada)) == (201, None, (50_000, 0))


def test_the_clean_up_deletes_keys_and_nothing_else(ada: Account, bola: Account, key: str) -> None:
    """Not the references, events, settled actions or spent tokens that outlive every key."""
    Phone(ada).pay(key=key)
    says(sent(row_of(pay(Phone(ada), "external")["Location"])), Finding.DONE)
    with gate.claim("retention.test", target="once", atomic=True) as action:
        action.settle("done")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO consumed_token (digest, user_id, purpose, reference, consumed_at)"
            " VALUES (%s, %s, 'transfer', 'r', now() - interval '10 years')",
            ["0" * 64, ada.owner_id],
        )
    before = contents()
    assert {"consumed_token", "idempotency_actions", "bank_transfer", "fulfilment"} <= set(before)
    clean_up_after(timedelta(days=3650))
    gone = {
        table: n - contents().get(table, 0)
        for table, n in before.items()
        if contents().get(table, 0) != n
    }
    assert gone == {"idempotency_keys": 2}, f"the clean-up took what is kept for ever: {gone}"


def contents() -> dict[str, int]:
    """How many rows every table of this database has, but for those that have none."""
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
        cursor.execute(
            " UNION ALL ".join(f"SELECT '{name}', count(*) FROM \"{name}\"" for name in names)
        )
        return {name: count for name, count in cursor.fetchall() if count}


def confirmed_only(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CONFIRM_ABOVE = {"NGN": 1}


def within_a_limit(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TRANSFER_LIMITS = {"NGN": 1}


def spelt_otherwise(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def validate(self: OrderFields, attrs: Any) -> Any:
        raise ValidationError({"narration": "Must be given in English."})

    monkeypatch.setattr(OrderFields, "validate", validate)


@pytest.mark.parametrize("rule", [confirmed_only, within_a_limit, spelt_otherwise])
@pytest.mark.parametrize("body", [B0, EXTERNAL], ids=["on us", "to another bank"])
def test_a_rule_that_came_later_does_not_deny_what_was_paid(
    ada: Account,
    bola: Account,
    key: str,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    body: Any,
    rule: Callable[[Any, pytest.MonkeyPatch], None],
) -> None:
    phone = Phone(ada)
    first = phone.pay(body, key=key)
    IdempotencyKey.objects.all().delete()
    cache.clear()
    rule(settings, monkeypatch)
    again = phone.pay(body, key=key)
    assert again.status_code == first.status_code, (
        f"{again.json()}: the customer is told that a transfer which was made is refused"
    )
    assert again.json()["id"] == first.json()["id"]
