"""POST /v1/transfers: once per key, with an answer that a phone can act on."""

from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client

from fulfilment.models import Fulfilment
from ledgerline.bank import outcomes
from ledgerline.bank.models import Account, Posting, Transfer
from tests.integration.bank.conftest import fund, on_hand
from tests.integration.bank.phone import B0, Phone

EXTERNAL = B0 | {"toBank": "058", "toAccount": "2233445566"}
FIELDS = [
    *("id", "reference", "state", "amount", "currency", "fromAccount", "toAccount", "toBank"),
    *("narration", "createdAt", "decidedAt", "reversedAt"),
]


@pytest.fixture
def key() -> str:
    return str(uuid4())


def test_on_us_is_201_with_location_and_masked_numbers(ada: Account, bola: Account) -> None:
    answer = Phone(ada).pay()
    body = answer.json()
    assert (answer.status_code, list(body)) == (201, FIELDS)
    assert answer["Location"] == f"/v1/transfers/{body['id']}"
    assert answer["Content-Type"] == "application/json"
    assert (body["fromAccount"], body["toAccount"]) == ("******6780", "******6789")
    assert (body["state"], body["amount"], body["toBank"]) == ("fulfilled", 10_000, None)
    assert body["createdAt"].endswith("Z")
    assert (on_hand(ada), on_hand(bola)) == ((90_000, 0), (10_000, 0))


def test_the_same_tap_twice_is_one_transfer_and_the_same_bytes(
    ada: Account, bola: Account, key: str
) -> None:
    first, again = (Phone(ada).pay(key=key) for _ in range(2))
    assert (again.status_code, again.content) == (201, first.content)
    assert (again["Location"], again["Content-Type"]) == (first["Location"], first["Content-Type"])
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert on_hand(ada) == (90_000, 0), "the money moved twice for one key"


def test_the_resource_says_what_the_answer_said(ada: Account, bola: Account) -> None:
    answer = Phone(ada).pay()
    assert Phone(ada).get(answer["Location"]).json() == answer.json()


def test_a_refusal_is_stored_and_moves_nothing(ada: Account, bola: Account, key: str) -> None:
    first = Phone(ada).pay(B0 | {"amount": 100_001}, key=key)
    assert first.status_code == 400
    assert first["Content-Type"] == "application/problem+json"
    assert (first.json()["code"], first.json()["retry"]) == ("insufficient_balance", "new_key")
    assert first.json()["title"] == "The account does not hold enough money for this."
    again = Phone(ada).pay(B0 | {"amount": 100_001}, key=key)
    assert (again.content, again["Idempotent-Replayed"]) == (first.content, "true")
    assert not Transfer.objects.exists()


def test_a_refusal_stays_the_answer_when_its_reason_is_gone(
    ada: Account, bola: Account, key: str
) -> None:
    wish = B0 | {"amount": 100_001}
    first = Phone(ada).pay(wish, key=key)
    fund(ada, 100_000)
    again = Phone(ada).pay(wish, key=key)
    assert (again.content, again["Idempotent-Replayed"]) == (first.content, "true")
    assert first.json()["safe_new_key"] is True
    assert Phone(ada).pay(wish).status_code == 201, "the new key that it invited to was refused"
    assert Phone(ada).pay(wish, key=key).content == first.content


@pytest.mark.parametrize("bank", [{}, {"toBank": "058"}], ids=["here", "another bank"])
@pytest.mark.parametrize("amount", [2**31 - 1, 2**31, 2**32, 2**63 - 1])
def test_an_amount_larger_than_any_balance_is_a_refusal_and_no_overflow(
    ada: Account, bola: Account, settings: Any, amount: int, bank: dict[str, str]
) -> None:
    settings.CONFIRM_ABOVE = {}
    answer = Phone(ada).pay(B0 | {"amount": amount} | bank)
    assert (answer.status_code, answer.json()["safe_new_key"]) == (400, True), answer.content
    assert not Transfer.objects.exists()


def test_a_frozen_customer_is_told_so_under_a_token_that_is_still_valid(
    ada: Account, bola: Account
) -> None:
    phone = Phone(ada)
    assert phone.pay().status_code == 201
    Account.objects.filter(pk=ada.pk).update(frozen_at="2026-01-01T00:00Z")
    answer = phone.pay()
    assert (answer.status_code, answer.json()["code"]) == (400, "account_frozen")
    assert answer.json()["field"] == "fromAccount"


def test_input_that_does_not_fit_is_not_stored(ada: Account, bola: Account, key: str) -> None:
    answer = Phone(ada).pay(B0 | {"amount": "10000"}, key=key)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert list(answer.json()["errors"]) == ["amount"]
    assert Phone(ada).pay(key=key).status_code == 201


def test_another_bank_is_202_and_409_tells_where_to_look(ada: Account, key: str) -> None:
    phone = Phone(ada)
    first = phone.pay(EXTERNAL, key=key)
    assert (first.status_code, first.json()["state"]) == (202, "pending")
    assert 1 <= int(first["Retry-After"]) <= 60
    again = phone.pay(EXTERNAL, key=key)
    problem = again.json()
    assert (again.status_code, problem["code"]) == (409, "in_progress")
    assert again["Location"] == first["Location"]
    assert (problem["transfer_id"], problem["state"]) == (first.json()["id"], "pending")
    assert 1 <= int(again["Retry-After"]) <= 60
    assert (Transfer.objects.count(), on_hand(ada)) == (1, (100_000, 10_000))


@pytest.mark.parametrize(
    ("decide", "status", "code"),
    [(outcomes.on_fulfilled, 201, None), (outcomes.on_failed, 400, "transfer_failed")],
)
def test_an_outcome_answers_the_phone(ada: Account, key: str, decide, status, code) -> None:
    phone = Phone(ada)
    first = phone.pay(EXTERNAL, key=key)
    decide(Fulfilment.objects.get(), None)
    answers = [phone.pay(EXTERNAL, key=key) for _ in range(2)]
    assert [a.status_code for a in answers] == [status, status]
    assert answers[0].content == answers[1].content
    assert answers[0]["Location"] == first["Location"]
    assert answers[0].json().get("code") == code
    if status == 201:
        assert answers[0].json() == phone.get(first["Location"]).json()
    else:
        assert answers[0].json()["safe_new_key"] is True


def test_after_a_reversal_the_key_still_replays_and_the_resource_tells(
    ada: Account, key: str
) -> None:
    phone = Phone(ada)
    phone.pay(EXTERNAL, key=key)
    outcomes.on_fulfilled(Fulfilment.objects.get(), None)
    before = phone.pay(EXTERNAL, key=key)
    outcomes.on_reversed(Fulfilment.objects.get(), None)
    after = phone.pay(EXTERNAL, key=key)
    assert (after.status_code, after.content) == (201, before.content)
    assert phone.get(after["Location"]).json()["state"] == "reversed"


def forget_keys() -> None:
    """As the nightly clean-up does after 30 days; the cache keeps answers for one."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM idempotency_keys")
    cache.clear()


@pytest.mark.parametrize("ending", ["fulfilled", "reversed", "failed"])
def test_a_retry_after_the_key_is_gone_gets_the_same_answer(
    ada: Account, key: str, ending: str
) -> None:
    phone = Phone(ada)
    phone.pay(EXTERNAL, key=key)
    if ending == "failed":
        outcomes.on_failed(Fulfilment.objects.get(), None)
    else:
        outcomes.on_fulfilled(Fulfilment.objects.get(), None)
    kept = phone.pay(EXTERNAL, key=key)
    if ending == "reversed":
        outcomes.on_reversed(Fulfilment.objects.get(), None)
    forget_keys()
    late = phone.pay(EXTERNAL, key=key)
    assert (late.status_code, late.content) == (kept.status_code, kept.content)
    assert late["Idempotent-Replayed"] == "true"
    assert late["Location"] == kept["Location"]
    assert Transfer.objects.count() == 1, "a late retry paid a second time"


def test_a_late_retry_of_an_on_us_transfer_pays_nothing(
    ada: Account, bola: Account, key: str
) -> None:
    first = Phone(ada).pay(key=key)
    forget_keys()
    late = Phone(ada).pay(key=key)
    assert (late.status_code, late.content) == (201, first.content)
    assert (on_hand(ada), Posting.objects.filter(kind="transfer").count()) == ((90_000, 0), 1)


@pytest.mark.parametrize("body", [B0, EXTERNAL])
def test_a_late_retry_with_another_body_is_refused(
    ada: Account, bola: Account, key: str, body: dict
) -> None:
    Phone(ada).pay(body, key=key)
    forget_keys()
    late = Phone(ada).pay(body | {"amount": 25_000}, key=key)
    assert (late.status_code, late.json()["code"]) == (422, "key_reused")
    assert Transfer.objects.count() == 1


def test_a_key_that_was_lost_while_its_transfer_is_open_is_open_again(
    ada: Account, key: str
) -> None:
    phone = Phone(ada)
    first = phone.pay(EXTERNAL, key=key)
    forget_keys()
    late = phone.pay(EXTERNAL, key=key)
    assert (late.status_code, late.json()["id"]) == (202, first.json()["id"])
    outcomes.on_fulfilled(Fulfilment.objects.get(), None)
    assert phone.pay(EXTERNAL, key=key).status_code == 201


def test_nobody_else_sees_a_transfer_or_is_answered_by_its_key(
    ada: Account, bola: Account, eve: Account, key: str
) -> None:
    first = Phone(ada).pay(key=key)
    assert Phone(eve).get(first["Location"]).status_code == 404
    assert Phone(eve).list("/v1/transfers")["transfers"] == []
    assert (
        Phone(eve).list(f"/v1/transfers?reference={first.json()['reference']}")["transfers"] == []
    )
    hers = Phone(eve).pay(B0 | {"amount": 1}, key=key)
    assert (hers.status_code, hers.json()["id"] == first.json()["id"]) == (201, False)


def test_without_a_token_nothing_happens(ada: Account, bola: Account, key: str) -> None:
    answer = Client().post(
        "/v1/transfers", B0, content_type="application/json", headers={"Idempotency-Key": key}
    )
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert Phone(ada).pay(key=key).status_code == 201
