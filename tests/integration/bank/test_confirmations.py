"""Above a limit, what the customer confirmed is paid, once; and nothing else (I.44)."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone

from idempotency.models import IdempotencyKey
from ledgerline import checks
from ledgerline.bank.models import Account, Transfer
from tests.integration.bank.conftest import on_hand
from tests.integration.bank.phone import B0, Phone

EXTERNAL = B0 | {"toBank": "058", "toAccount": "2233445566"}
FIELDS = [
    *("token", "expiresAt", "amount", "currency", "fromAccount", "toAccount", "toBank"),
    "payeeName",
]
UNCONFIRMED = "money moved that nobody had confirmed"


@pytest.fixture(autouse=True)
def _limit(settings) -> None:
    settings.CONFIRM_ABOVE = {"NGN": 9_999}


@pytest.fixture
def key() -> str:
    return str(uuid4())


def token_for(phone: Phone, body: dict = B0) -> str:
    answer = phone.confirm(body)
    assert answer.status_code == 201, answer.content
    return answer.json()["token"]


def code(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_the_confirm_screen_is_told_what_will_be_paid_to_whom(ada: Account, bola: Account) -> None:
    bola.owner.first_name, bola.owner.last_name = "Bola", "Adeyemi-Okoro Li"
    bola.owner.save()
    answer = Phone(ada).confirm()
    said = answer.json()
    assert (answer.status_code, list(said)) == (201, FIELDS)
    assert (said["amount"], said["currency"], said["toBank"]) == (10_000, "NGN", None)
    assert (said["fromAccount"], said["toAccount"]) == ("******6780", "******6789")
    assert said["payeeName"] == "B*** A*** L***"
    left = datetime.fromisoformat(said["expiresAt"]) - timezone.now()
    assert timedelta(minutes=4) < left < timedelta(minutes=6)
    assert answer["Cache-Control"] == "no-store", "a proxy or a browser may keep the token"
    assert (on_hand(ada), IdempotencyKey.objects.count()) == ((100_000, 0), 0)


def test_a_large_transfer_without_a_confirmation_is_refused_and_its_key_stays_free(
    ada: Account, bola: Account, key: str
) -> None:
    phone = Phone(ada)
    refused = phone.pay(key=key)
    assert (code(refused), refused.json()["above"]) == ((400, "confirmation_required"), 9_999)
    assert "same key" in refused.json()["detail"]
    assert (Transfer.objects.count(), IdempotencyKey.objects.count()) == (0, 0), UNCONFIRMED
    paid = phone.pay(key=key, token=token_for(phone))
    assert (paid.status_code, on_hand(ada)) == (201, (90_000, 0))


def test_a_small_transfer_needs_none(ada: Account, bola: Account) -> None:
    assert Phone(ada).pay(B0 | {"amount": 9_999}).status_code == 201


def test_a_currency_without_a_limit_needs_none(ada: Account, bola: Account, settings) -> None:
    settings.CONFIRM_ABOVE = {"EUR": 1}
    assert Phone(ada).pay().status_code == 201


@pytest.mark.parametrize(
    ("paid", "differs"),
    [
        (B0 | {"amount": 10_001}, ["amount"]),
        (B0 | {"toAccount": "0123456711"}, ["toAccount"]),
        (EXTERNAL, ["toAccount", "toBank"]),
        (B0 | {"fromAccount": "0123456780"}, ["fromAccount"]),
    ],
)
def test_what_was_not_confirmed_is_not_paid(
    ada: Account, bola: Account, eve: Account, key: str, paid: dict, differs: list[str]
) -> None:
    phone = Phone(ada)
    token = token_for(phone)
    refused = phone.pay(paid, key=key, token=token)
    assert (code(refused), refused.json()["differs"]) == ((400, "token_mismatch"), differs)
    assert (Transfer.objects.count(), on_hand(ada)) == (0, (100_000, 0)), UNCONFIRMED
    assert phone.pay(key=key, token=token).status_code == 201, "the mismatch used the token up"


def test_the_narration_may_be_written_last(ada: Account, bola: Account) -> None:
    phone = Phone(ada)
    assert phone.pay(B0 | {"narration": "rent"}, token=token_for(phone)).status_code == 201


def test_a_retry_is_replayed_with_any_token_and_with_none(
    ada: Account, bola: Account, key: str
) -> None:
    phone = Phone(ada)
    token = token_for(phone)
    first = phone.pay(key=key, token=token)
    for again in (token, token_for(phone), "nonsense", None):
        replay = phone.pay(key=key, token=again)
        assert (replay.status_code, replay.content) == (201, first.content), replay.content
    assert on_hand(ada) == (90_000, 0)


def test_a_late_retry_finds_its_transfer_without_any_token(
    ada: Account, bola: Account, key: str
) -> None:
    phone = Phone(ada)
    first = phone.pay(key=key, token=token_for(phone))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM idempotency_keys")
    cache.clear()
    late = phone.pay(key=key)
    assert (late.status_code, late.content) == (201, first.content)


def test_another_key_cannot_pay_with_a_token_that_was_used(
    ada: Account, bola: Account, key: str
) -> None:
    phone = Phone(ada)
    token = token_for(phone)
    phone.pay(key=key, token=token)
    other = phone.pay(token=token)
    assert (code(other), other.json()["safe_new_key"]) == ((409, "token_used"), False)
    assert (Transfer.objects.count(), on_hand(ada)) == (1, (90_000, 0)), UNCONFIRMED


def test_a_token_that_was_sent_with_a_small_transfer_is_spent_too(
    ada: Account, bola: Account
) -> None:
    phone = Phone(ada)
    small = B0 | {"amount": 1}
    token = token_for(phone, small)
    assert phone.pay(small, token=token).status_code == 201
    assert code(phone.pay(small, token=token)) == (409, "token_used")


def test_a_strangers_confirmation_is_unknown(ada: Account, bola: Account, eve: Account) -> None:
    assert code(Phone(eve).pay(token=token_for(Phone(ada)))) == (400, "token_unknown")
    assert on_hand(eve) == (5_000, 0), UNCONFIRMED


def test_a_transfer_to_another_bank_is_confirmed_likewise(ada: Account, key: str) -> None:
    phone = Phone(ada)
    assert code(phone.pay(EXTERNAL, key=key)) == (400, "confirmation_required")
    given = phone.confirm(EXTERNAL).json()
    assert (given["toBank"], given["toAccount"], given["payeeName"]) == ("058", "******5566", None)
    assert phone.pay(EXTERNAL, key=key, token=given["token"]).status_code == 202
    again = phone.pay(EXTERNAL, key=key, token="nonsense")
    assert code(again) == (409, "in_progress")
    assert (Transfer.objects.count(), on_hand(ada)) == (1, (100_000, 10_000))


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (B0 | {"toAccount": "0123456799"}, "unknown_payee"),
        (B0 | {"toAccount": "0123456780"}, "same_account"),
        (B0 | {"fromAccount": "0123456711"}, "unknown_account"),
        (B0 | {"amount": 2**62}, "limit_exceeded"),
        (B0 | {"amount": "10000"}, "invalid"),
        (B0 | {"colour": "red"}, "invalid"),
    ],
)
def test_what_is_certain_to_fail_is_said_on_the_confirm_screen(
    ada: Account, bola: Account, eve: Account, body: dict, refusal: str
) -> None:
    assert code(Phone(ada).confirm(body)) == (400, refusal)


def test_nobody_confirms_without_credentials(bola: Account) -> None:
    answer = Client().post("/v1/transfer-confirmations", B0, content_type="application/json")
    assert code(answer) == (401, "unauthenticated")


def test_without_redis_large_transfers_wait_and_small_ones_go_on(
    ada: Account, bola: Account, key: str, settings
) -> None:
    phone, there = Phone(ada), settings.CACHES
    token = token_for(phone)
    nowhere = there["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": nowhere}
    refused = phone.pay(key=key, token=token)
    assert (code(refused), refused.json()["retry"]) == ((503, "unavailable"), "same_key")
    assert code(phone.confirm()) == (503, "unavailable")
    assert phone.pay(B0 | {"amount": 1}).status_code == 201
    assert on_hand(ada) == (99_999, 0), UNCONFIRMED
    settings.CACHES = there
    assert phone.pay(key=key, token=token).status_code == 201


@pytest.mark.parametrize(
    "page",
    [
        "confirmation_required",
        "token_unknown",
        "token_expired",
        "token_mismatch",
        "token_used",
    ],
)
def test_every_refused_confirmation_has_a_page_that_says_what_to_do(page: str) -> None:
    answer = Client().get(f"/problems/{page}/")
    assert answer.status_code == 200
    assert b"same key" in answer.content or b"this key" in answer.content


def test_confirmations_that_nobody_could_get_are_refused_at_start(settings) -> None:
    assert checks.confirmations_can_be_given(None) == []
    settings.IDEMPOTENCY = {"CACHE": "default"}
    assert [error.id for error in checks.confirmations_can_be_given(None)] == ["ledgerline.E004"]
    settings.CONFIRM_ABOVE = {}
    assert checks.confirmations_can_be_given(None) == []
