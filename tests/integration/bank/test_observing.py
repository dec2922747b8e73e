"""A roll-out to phones that send no key yet: the bank serves them as it always did, and counts them."""

import json
from typing import Any

import pytest
from django.test import Client

import idempotency
from idempotency.models import IdempotencyKey
from idempotency.signals import key_absent
from idempotency.testing import replay
from ledgerline import tokens
from ledgerline.bank import answers
from ledgerline.bank.models import Account, Transfer
from tests.integration.bank.conftest import on_hand
from tests.integration.bank.phone import B0, Phone

EXTERNAL = B0 | {"toAccount": "2233445566", "toBank": "058", "amount": 700}


@pytest.fixture(autouse=True)
def _observing(settings: Any) -> None:
    settings.IDEMPOTENCY = settings.IDEMPOTENCY | {"OBSERVE": True}


@pytest.fixture
def counted() -> Any:
    said: list[tuple[str, bool]] = []

    def hear(*, client: str, refused: bool, **_: Any) -> None:
        said.append((client, refused))

    key_absent.connect(hear)
    yield said
    key_absent.disconnect(hear)


def old_phone(account: Account, body: Any) -> Any:
    """One of before the keys."""
    headers = {
        "Authorization": f"Bearer {tokens.issue(account.owner)}",
        "User-Agent": "BankApp/3.1",
    }
    return Client(headers=headers).post(
        "/v1/transfers", json.dumps(body), content_type="application/json"
    )


def test_an_old_phone_pays_as_before_and_is_counted(
    ada: Account, bola: Account, counted: list[tuple[str, bool]]
) -> None:
    assert [old_phone(ada, B0).status_code for _ in range(2)] == [201, 201]
    assert on_hand(ada) == (80_000, 0)
    assert counted == [("BankApp/3", False)] * 2


def test_what_another_bank_has_to_take_is_open_and_decided_as_ever(ada: Account) -> None:
    assert old_phone(ada, EXTERNAL).status_code == 202
    [transfer], [key] = Transfer.objects.all(), IdempotencyKey.objects.all()
    assert key.key.startswith("unkeyed-")
    answer = answers.accepted(transfer)
    final = idempotency.Answer(201, answer.headers, answer.body)
    assert idempotency.complete(key.user_id, key.key, final), "its key cannot be completed"


def test_a_new_phone_is_guarded_meanwhile(ada: Account, bola: Account) -> None:
    replay(lambda: Phone(ada).pay(key="of-a-new-phone"), effects=Transfer.objects.count)
