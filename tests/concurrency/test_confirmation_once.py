"""One confirmation, two keys at once: one transfer (I.44)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

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
        token = Phone(payer).confirm().json()["token"]
        answers = two_at_once(payer, token, keys=(None, None))
        paid = [answer for answer in answers if answer.status_code == 201]
        assert len(paid) < 2, TWICE
        assert len(paid) == 1, NEVER
        [refused] = [answer.json() for answer in answers if answer.status_code != 201]
        assert (refused["code"], refused["safe_new_key"]) == ("token_used", False)
    assert (Transfer.objects.count(), ConsumedToken.objects.count()) == (ROUNDS, ROUNDS)


def test_a_request_that_was_sent_in_two_copies_pays_once_and_is_never_told_of_its_token(
    payer: Account,
) -> None:
    """C109: clients and proxies resend by themselves; both copies carry one key and one token."""
    for _ in range(ROUNDS):
        token, key = Phone(payer).confirm().json()["token"], str(uuid4())
        for answer in two_at_once(payer, token, keys=(key, key)):
            waits = answer.status_code == 409 and answer.json()["code"] == "in_progress"
            assert waits or answer.status_code == 201, answer.content
            assert not waits or int(answer["Retry-After"]) >= 1
        assert Phone(payer).pay(key=key, token=token).status_code == 201
    assert (Transfer.objects.count(), ConsumedToken.objects.count()) == (ROUNDS, ROUNDS)


def two_at_once(payer: Account, token: str, *, keys: tuple[str | None, str | None]) -> list[Any]:
    both = threading.Barrier(2)

    def tap(key: str | None) -> Any:
        try:
            phone = Phone(payer)
            both.wait(10)
            return phone.pay(key=key, token=token)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return [future.result(30) for future in [pool.submit(tap, key) for key in keys]]
