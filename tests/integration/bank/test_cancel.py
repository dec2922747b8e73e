"""POST /v1/transfers/{id}/cancel: yours, before anything was sent, as often as you like."""

import json
from uuid import uuid4

import pytest
from django.db import connection, connections

from fulfilment.models import CaseAction
from ledgerline.bank import outcomes
from ledgerline.bank.models import Account, Hold, Transfer
from tests.integration.bank.conftest import on_hand
from tests.integration.bank.outside import EXTERNAL, row_of, sent
from tests.integration.bank.phone import Phone

pytestmark = pytest.mark.django_db


@pytest.fixture
def key() -> str:
    return str(uuid4())


def test_nothing_was_sent_so_the_money_is_free_and_the_phone_is_told(ada: Account, key) -> None:
    phone = Phone(ada)
    location = phone.pay(EXTERNAL, key=key)["Location"]
    assert on_hand(ada) == (100_000, 10_000)
    answer = phone.post(f"{location}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert on_hand(ada) == (100_000, 0)
    assert Hold.objects.get().state == "released"
    again = phone.pay(EXTERNAL, key=key)
    assert (again.status_code, again.json()["code"]) == (400, "transfer_cancelled")
    assert again.json()["safe_new_key"] is True
    assert again["Idempotent-Replayed"] == "true"
    assert phone.get(location).json() == answer.json()


def on_record(ada: Account, location: str) -> tuple[object, ...]:
    """Everything that a second cancellation could leave behind."""
    row = row_of(location)
    return (
        (row.state, row.version, row.state_changed_at, row.decided_at),
        list(row.transitions.values()),
        list(CaseAction.objects.values()),
        list(Hold.objects.values()),
        list(Transfer.objects.values()),
        on_hand(ada),
    )


def test_cancelling_again_succeeds_and_restamps_nothing(ada: Account) -> None:
    phone = Phone(ada)
    location = phone.pay(EXTERNAL)["Location"]
    first = phone.post(f"{location}/cancel")
    before = on_record(ada, location)
    again = phone.post(f"{location}/cancel")
    assert (again.status_code, again.content) == (200, first.content)
    assert on_record(ada, location) == before, "the second cancellation left a trace"
    assert on_hand(ada) == (100_000, 0)


def test_what_was_sent_is_refused_with_what_to_do_next(ada: Account, key) -> None:
    phone = Phone(ada)
    location = phone.pay(EXTERNAL, key=key)["Location"]
    sent(row_of(location))
    answer = phone.post(f"{location}/cancel")
    body = answer.json()
    assert (answer.status_code, body["code"], body["retry"]) == (409, "not_cancellable", "never")
    assert (body["state"], body["safe_new_key"]) == ("pending", False)
    assert answer["Location"] == location
    assert answer["Content-Type"] == "application/problem+json"
    assert "Ask for its outcome at Location" in body["detail"]
    assert on_hand(ada) == (100_000, 10_000)
    assert phone.pay(EXTERNAL, key=key).status_code == 409, "the key was settled by a refusal"


@pytest.mark.parametrize(
    ("outcome", "advice"),
    [
        (outcomes.on_fulfilled, "Ask the payee to send the money back"),
        (outcomes.on_failed, "with a new key if it is still wanted"),
    ],
)
def test_what_is_decided_says_so(ada: Account, outcome, advice: str) -> None:
    phone = Phone(ada)
    location = phone.pay(EXTERNAL)["Location"]
    outcome(sent(row_of(location)), None)
    answer = phone.post(f"{location}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_cancellable")
    assert advice in answer.json()["detail"]


def test_a_transfer_between_accounts_of_ours_is_paid_when_it_is_made(ada, bola) -> None:
    answer = Phone(ada).post(Phone(ada).pay()["Location"] + "/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_cancellable")
    assert on_hand(bola) == (10_000, 0)


def test_somebody_elses_transfer_is_not_found(ada: Account, eve: Account) -> None:
    location = Phone(ada).pay(EXTERNAL)["Location"]
    assert Phone(eve).post(f"{location}/cancel").status_code == 404
    assert Phone(eve).post(f"/v1/transfers/{uuid4()}/cancel").status_code == 404
    assert Transfer.objects.get().state == "pending"


def test_without_a_token_it_is_401_and_by_get_405(ada: Account) -> None:
    location = Phone(ada).pay(EXTERNAL)["Location"]
    assert Phone(ada).get(f"{location}/cancel").status_code == 405
    stranger = Phone(ada)
    stranger._headers = {}
    assert stranger.post(f"{location}/cancel").status_code == 401
    assert Transfer.objects.get().state == "pending"


def test_the_page_of_the_code_explains_it(client) -> None:
    page = client.get("/problems/not_cancellable/").content.decode()
    assert "Only what was never sent" in page


def test_the_books_balance_and_remember_no_posting(ada: Account) -> None:
    phone = Phone(ada)
    location = phone.pay(EXTERNAL)["Location"]
    phone.post(f"{location}/cancel")
    assert not Transfer.objects.get().postings.exists()


@pytest.mark.django_db(transaction=True)
def test_a_row_that_is_locked_for_long_is_503_and_never_500(ada: Account) -> None:
    phone = Phone(ada)
    location = phone.pay(EXTERNAL)["Location"]
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM fulfilment FOR UPDATE")
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '200ms'")
        answer = phone.post(f"{location}/cancel")
    finally:
        other.rollback()
        other.close()
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert (answer.status_code, json.loads(answer.content)["code"]) == (503, "unavailable")
    assert answer["Retry-After"] == "1"
    assert phone.post(f"{location}/cancel").status_code == 200
