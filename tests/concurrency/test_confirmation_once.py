"""One confirmation, two keys at once: one transfer (I.44)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from idempotency.models import ConsumedToken
from ledgerline.bank.models import Account, Transfer
from tests.integration.bank.conftest import customer
from tests.integration.bank.phone import B0, Phone

pytestmark = pytest.mark.django_db(
    transaction=True, available_apps=["idempotency", "fulfilment", "ledgerline.bank"]
)

ROUNDS = 5
TWICE = (
    "one confirmation paid twice: consumed_token has no primary key, or Redis marks in two steps"
)
NEVER = "a confirmation paid nothing: both keys were told that the other one has used it"


@pytest.fixture
def payer(transactional_db: None, settings: Any) -> Account:
    settings.CONFIRM_ABOVE = {"NGN": 9_999}
    customer("bola", number=B0["toAccount"])
    return customer("ada", number="0123456780", funds=ROUNDS * 2 * B0["amount"])


def test_two_keys_with_one_confirmation_make_one_transfer(payer: Account) -> None:
    for _ in range(ROUNDS):
        answers = two_at_once(payer, Phone(payer).confirm().json()["token"])
        paid = [answer for answer in answers if answer.status_code == 201]
        assert len(paid) < 2, TWICE
        assert len(paid) == 1, NEVER
        [refused] = [answer.json() for answer in answers if answer.status_code != 201]
        assert (refused["code"], refused["safe_new_key"]) == ("token_used", False)
    assert (Transfer.objects.count(), ConsumedToken.objects.count()) == (ROUNDS, ROUNDS)


def two_at_once(payer: Account, token: str) -> list[Any]:
    both = threading.Barrier(2)

    def tap() -> Any:
        try:
            phone = Phone(payer)
            both.wait(10)
            return phone.pay(token=token)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return [future.result(30) for future in [pool.submit(tap) for _ in range(2)]]
