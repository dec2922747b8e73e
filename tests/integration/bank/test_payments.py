"""POST /v1/payments: one checkout per key, and an answer that says what is known."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import connection

from idempotency import retention, sweeps
from ledgerline.bank.api.schema import PAYMENT
from ledgerline.bank.models import Account, Payment, User
from tests.integration.bank.desk import Provider, provider
from tests.integration.bank.phone import Phone
from tests.integration.idempotency.old_keys import grown_older

pytestmark = pytest.mark.django_db(
    transaction=True, available_apps=["idempotency", "fulfilment", "ledgerline.bank"]
)

BODY = {"amount": 500_00, "currency": "NGN", "phone": "+2348012345678", "narration": "for mum"}
MARKER = "Idempotent-Replayed"


@pytest.fixture
def desk(settings: Any) -> Iterator[Provider]:
    with provider() as running:
        settings.CHECKOUT_DESK = running.settings
        yield running


@pytest.fixture
def key() -> str:
    return str(uuid4())


def buy(account: Account, body: Any = BODY, *, key: str | None = None) -> Any:
    return Phone(account).pay(body, key=key, path="/v1/payments")


def run_out() -> None:
    """Leases and back-offs are over."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE idempotency_keys SET locked_until = locked_until - interval '1 day',"
            " next_check_at = next_check_at - interval '1 day'"
        )


def test_a_payment_is_201_with_the_address_at_which_to_pay(
    ada: Account, desk: Provider, key: str
) -> None:
    first, again = buy(ada, key=key), buy(ada, key=key)
    body = first.json()
    assert (first.status_code, again.content) == (201, first.content)
    assert (first["Location"], first["Content-Type"]) == (
        f"/v1/payments/{body['id']}",
        "application/json",
    )
    assert (body["state"], body["amount"], body["currency"]) == ("open", 500_00, "NGN")
    assert (body["phone"], body["narration"]) == ("**********5678", "for mum")
    assert body["checkoutUrl"] == "https://pay.example/chk_1"
    assert (MARKER in first, again[MARKER], again["Location"]) == (False, "true", first["Location"])
    [(reference, checkout)] = desk.books.items()
    assert (reference, body["reference"]) == (reference, reference)
    assert checkout["metadata"] == {
        "phone": "+2348012345678",
        "ordered": "50000 NGN",
        "narration": "for mum",
    }
    assert desk.openings == {reference: 1}
    assert Phone(ada).get(first["Location"]).json() == body
    assert list(body) == list(PAYMENT["properties"]), "the schema names other fields"


def test_nobody_else_sees_a_payment(ada: Account, eve: Account, desk: Provider, key: str) -> None:
    first = buy(ada, key=key)
    assert Phone(eve).get(first["Location"]).status_code == 404
    hers = buy(eve, key=key)
    assert (hers.status_code, hers.json()["id"] == first.json()["id"]) == (201, False)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"currency": "CHF"}, "currency_unsupported"),
        ({"amount": 100_000_01}, "limit_exceeded"),
    ],
)
def test_a_refusal_is_stored_and_calls_nobody(
    ada: Account, desk: Provider, key: str, body: dict[str, Any], code: str
) -> None:
    first, again = (buy(ada, BODY | body, key=key) for _ in range(2))
    assert (first.status_code, first.json()["code"]) == (400, code)
    assert (again.content, again[MARKER]) == (first.content, "true")
    assert not desk.openings


def test_a_frozen_customer_is_refused(ada: Account, desk: Provider) -> None:
    User.objects.filter(pk=ada.owner_id).update(frozen_at="2026-01-01T00:00Z")
    assert buy(ada).json()["code"] == "user_frozen"
    assert not desk.openings


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": "500"}, "amount"),
        ({"phone": "call me"}, "phone"),
        ({"phone": 2348012345678}, "phone"),
        ({"currency": "ngn"}, "currency"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_input_that_does_not_fit_is_not_stored(
    ada: Account, desk: Provider, key: str, change: dict[str, Any], field: str
) -> None:
    refused = buy(ada, BODY | change, key=key)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert list(refused.json()["errors"]) == [field]
    assert not desk.openings
    assert buy(ada, key=key).status_code == 201, "the corrected body was refused under its key"


def test_a_desk_that_is_not_there_proves_that_nothing_happened(
    ada: Account, desk: Provider, key: str, settings: Any
) -> None:
    settings.CHECKOUT_DESK = desk.settings | {"URL": "http://127.0.0.1:1"}
    answer = buy(ada, key=key)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer["Retry-After"]) >= 1
    assert not _keys()
    settings.CHECKOUT_DESK = desk.settings
    assert buy(ada, BODY | {"amount": 1}, key=key).status_code == 201


def test_a_desk_that_begins_nothing_may_be_asked_again(
    ada: Account, desk: Provider, key: str
) -> None:
    desk.will.append("refuse")
    assert buy(ada, key=key).status_code == 503
    assert buy(ada, key=key).status_code == 201


def test_a_checkout_that_is_declined_is_the_answer_for_ever(
    ada: Account, desk: Provider, key: str
) -> None:
    desk.will.append("decline")
    first, again = buy(ada, key=key), buy(ada, key=key)
    assert (first.status_code, first.json()["code"]) == (400, "checkout_declined")
    assert (again.content, again[MARKER]) == (first.content, "true")
    assert not Payment.objects.exists()


@pytest.mark.parametrize("fault", ["lose_answer", "error"])
def test_a_lost_answer_is_unknown_and_then_found(
    ada: Account, desk: Provider, key: str, fault: str
) -> None:
    desk.will.append(fault)
    answer = buy(ada, key=key)
    assert (answer.status_code, answer.json()["code"]) == (202, "outcome_unknown"), answer.content
    assert buy(ada, key=key).status_code == 202
    assert buy(ada, BODY | {"amount": 1}, key=key).status_code == 422
    run_out()
    found = buy(ada, key=key)
    assert (found.status_code, found[MARKER]) == (201, "true"), found.content
    assert (found.json()["state"], found.json()["phone"]) == ("open", "**********5678")
    assert found.json()["checkoutUrl"] == "https://pay.example/chk_1"
    assert found["Location"] == f"/v1/payments/{Payment.objects.get().pk}"
    assert buy(ada, key=key).content == found.content
    assert list(desk.openings.values()) == [1], "opened again although nobody knew"


def test_the_sweep_finds_a_lost_checkout_and_the_phone_replays_it(
    ada: Account, desk: Provider, key: str
) -> None:
    desk.will.append("lose_answer")
    desk.can_be_asked = False
    buy(ada, key=key)
    run_out()
    assert sweeps.recover_due() == 1
    assert _keys()[0]["hold_reason"] == "HTTP 503"
    desk.can_be_asked = True
    run_out()
    assert [sweeps.recover_due() for _ in range(2)] == [1, 0]
    found = buy(ada, key=key)
    assert (found.status_code, found[MARKER], len(desk.books)) == (201, "true", 1)
    assert Payment.objects.get().narration == "for mum"


def test_a_checkout_over_another_amount_is_nobodys_answer(
    ada: Account, desk: Provider, key: str
) -> None:
    desk.will.append("wrong_amount")
    for _ in range(2):
        assert buy(ada, key=key).status_code == 202
        run_out()
    assert sweeps.recover_due() == 1
    assert not Payment.objects.exists(), "paid for with a sum that the customer never ordered"
    assert _keys()[0]["hold_reason"] == "the checkout is over another amount than was ordered"


def test_a_checkout_of_which_the_provider_forgot_the_phone_is_held(
    ada: Account, desk: Provider, key: str
) -> None:
    desk.will.append("lose_answer")
    buy(ada, key=key)
    for checkout in desk.books.values():
        checkout["metadata"] = {}
    run_out()
    assert buy(ada, key=key).status_code == 202
    assert _keys()[0]["hold_reason"] == "the checkout does not say for which phone it is"


def test_a_late_retry_is_answered_from_the_payment(ada: Account, desk: Provider, key: str) -> None:
    first = buy(ada, key=key)
    Payment.objects.update(state="paid", paid_at="2026-01-01T00:00Z")
    for body, status in ((BODY, 201), (BODY | {"amount": 1}, 422)):
        grown_older(timedelta(days=31))
        assert retention.retire() == 1
        cache.clear()
        late = buy(ada, body, key=key)
        assert late.status_code == status
        if status == 201:
            assert (late.content, late[MARKER]) == (first.content, "true")
    assert (len(desk.books), Payment.objects.count()) == (1, 1)


@pytest.mark.parametrize("change", [{"amount": "x"}, {"colour": "red"}, {"phone": None}])
def test_a_damaged_late_retry_is_told_of_no_safe_new_key(
    ada: Account, desk: Provider, key: str, change: dict[str, Any]
) -> None:
    buy(ada, key=key)
    grown_older(timedelta(days=31))
    retention.retire()
    cache.clear()
    late = buy(ada, BODY | change, key=key)
    assert late.json()["safe_new_key"] is False, "invites a second payment: the first one is made"
    assert (late.status_code, late.json()["code"]) == (422, "key_reused")
    assert len(desk.books) == 1


def _keys() -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT hold_reason FROM idempotency_keys")
        return [{"hold_reason": reason} for (reason,) in cursor.fetchall()]
