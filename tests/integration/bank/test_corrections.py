"""Given up, told so, and paid all the same: what the books and the phone make of it."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches
from django.db import connection

from fulfilment.models import Case, Fulfilment
from fulfilment.reconcile import cases
from fulfilment.reconcile.evidence import Finding
from ledgerline.bank import accounts
from ledgerline.bank.models import Account, Posting, Transfer
from ledgerline.bank.posting import Leg, post
from tests.integration.bank.conftest import fund, on_hand
from tests.integration.bank.outside import EXTERNAL, row_of, says, sent
from tests.integration.bank.phone import Phone
from tests.integration.fulfilment.support import InMemory, Provider, staff

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def silent(settings: Any) -> None:
    """The other bank cannot be asked: what it said, it said by events."""
    provider = Provider()
    provider.can_be_asked = False
    connectors = {"sandbox": {"CLASS": InMemory, "PROVIDER": provider}}
    settings.FULFILMENT = settings.FULFILMENT | {"HINT": None, "CONNECTORS": connectors}
    caches["default"].clear()


@pytest.fixture
def senior():
    return staff("senior", "resolve_fulfilled", "resolve_failed", "correct_failed")


@pytest.fixture
def key() -> str:
    return str(uuid4())


@pytest.fixture
def failed(ada: Account, key: str) -> str:
    """The location of a transfer that failed by the other bank's word; its money is free again."""
    location = Phone(ada).pay(EXTERNAL, key=key)["Location"]
    says(sent(row_of(location)), Finding.NOT_DONE)
    assert Phone(ada).pay(EXTERNAL, key=key).json()["code"] == "transfer_failed"
    says(row_of(location), Finding.DONE)
    return location


def correct(location: str, senior: Any) -> Fulfilment:
    row = row_of(location)
    return cases.resolve(
        row.pk,
        actor=senior,
        verdict="fulfilled",
        evidence_reference="statement 17",
        note="seen",
        version=row.version,
    )


def spend(account: Account, amount: int) -> None:
    funding = accounts.internal(Account.Role.FUNDING, currency="NGN")
    post(Leg(account, -amount), Leg(funding, amount), kind=Posting.Kind.FUNDING)


def shares(kind: str) -> dict[str, int]:
    """Who gave and who received in the one posting of this kind, by role."""
    entries = Posting.objects.get(kind=kind).entries.values_list("account__name", "amount")
    return {name or "customer": amount for name, amount in entries}


def test_late_truth_alone_moves_nothing_and_tells_the_phone_nothing(ada, failed, key) -> None:
    assert on_hand(ada) == (100_000, 0)
    assert Phone(ada).pay(EXTERNAL, key=key).json()["code"] == "transfer_failed"
    assert Case.objects.get().reason == "conflict"
    assert not Posting.objects.filter(transfer__isnull=False).exists()


def test_a_correction_takes_the_money_again_and_answers_the_phone(
    ada, failed, key, senior, django_capture_on_commit_callbacks
) -> None:
    phone = Phone(ada)
    with django_capture_on_commit_callbacks(execute=True):
        correct(failed, senior)
    assert on_hand(ada) == (90_000, 0)
    assert shares("correction") == {"customer": -10_000, "settlement": 10_000}
    answers = [phone.pay(EXTERNAL, key=key) for _ in range(2)]  # from the cache, too
    for answer in answers:
        assert (answer.status_code, answer.json()["state"]) == (201, "fulfilled")
        assert answer["Idempotent-Replayed"] == "true"
        assert answer["Location"] == failed
    assert answers[0].content == answers[1].content
    assert phone.get(failed).json() == answers[0].json()
    note = Case.objects.get().actions.get(action="noted").note
    assert note == (
        "NGN 100.00 was taken from the customer's account. "
        "The app's stored answer transfer_failed is replaced by 201."
    )


def test_what_the_customer_does_not_have_any_more_goes_to_suspense_and_to_a_case(
    ada, failed, key, senior
) -> None:
    spend(ada, 94_000)
    correct(failed, senior)
    assert on_hand(ada) == (0, 0)
    assert shares("correction") == {"customer": -6_000, "suspense": -4_000, "settlement": 10_000}
    left = Case.objects.get(closed_at__isnull=True)
    assert left.reason == "suspense"
    note = left.actions.get(action="opened").note
    assert "NGN 40.00 was not there any more: suspense carries it." in note
    assert Phone(ada).pay(EXTERNAL, key=key).status_code == 201, "a fact was refused"


def test_an_empty_and_frozen_account_refuses_no_fact(ada, failed, senior) -> None:
    spend(ada, 100_000)
    Account.objects.filter(pk=ada.pk).update(frozen_at="2026-01-01T00:00Z")
    correct(failed, senior)
    assert shares("correction") == {"suspense": -10_000, "settlement": 10_000}


def test_what_is_held_for_another_transfer_is_not_taken(ada, failed, senior) -> None:
    Phone(ada).pay(EXTERNAL | {"amount": 95_000})
    correct(failed, senior)
    assert on_hand(ada) == (95_000, 95_000)
    assert shares("correction")["suspense"] == -5_000


def test_a_correction_that_comes_back_is_given_back_to_whoever_gave_it(ada, failed, senior) -> None:
    spend(ada, 94_000)
    correct(failed, senior)
    says(row_of(failed), Finding.REVERSED)
    assert on_hand(ada) == (6_000, 0)
    assert shares("reversal") == {"customer": 6_000, "suspense": 4_000, "settlement": -10_000}
    assert Transfer.objects.get().state == "reversed"


@pytest.mark.parametrize("state", ["pending", "fulfilled"])
def test_a_later_transfer_for_the_same_thing_makes_it_paid_twice(
    ada, failed, key, senior, state: str
) -> None:
    phone = Phone(ada)
    later = phone.pay(EXTERNAL)["Location"]
    if state == "fulfilled":
        says(sent(row_of(later)), Finding.DONE)
    before = on_hand(ada)
    correct(failed, senior)
    assert on_hand(ada) == before, "the customer pays the same thing twice"
    assert shares("paid_twice") == {"suspense": -10_000, "settlement": 10_000}
    found = Case.objects.get(closed_at__isnull=True)
    assert found.reason == "paid_twice"
    assert later.rsplit("/", 1)[1] in found.actions.get(action="opened").note
    assert phone.get(failed).json()["state"] == "failed"
    assert phone.pay(EXTERNAL, key=key).json()["code"] == "transfer_failed"


@pytest.mark.parametrize(
    "other",
    [{"amount": 10_001}, {"toAccount": "2233445567"}, {"toBank": "059"}],
    ids=str,
)
def test_a_later_transfer_for_another_thing_is_none_of_it(ada, failed, senior, other) -> None:
    Phone(ada).pay(EXTERNAL | other)
    correct(failed, senior)
    assert Posting.objects.filter(kind="correction").count() == 1


def test_a_later_transfer_that_failed_or_was_cancelled_does_not_live(ada, failed, senior) -> None:
    phone = Phone(ada)
    phone.post(phone.pay(EXTERNAL)["Location"] + "/cancel")
    says(sent(row_of(phone.pay(EXTERNAL)["Location"])), Finding.NOT_DONE)
    correct(failed, senior)
    assert Posting.objects.filter(kind="correction").count() == 1


def test_somebody_elses_transfer_for_the_same_thing_is_no_twin(ada, eve, failed, senior) -> None:
    fund(eve, 20_000)
    assert Phone(eve).pay(EXTERNAL).status_code == 202
    correct(failed, senior)
    assert Posting.objects.filter(kind="correction").count() == 1


def test_a_key_that_is_kept_no_more_is_answered_by_the_transfer(ada, failed, key, senior) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM idempotency_keys")
    correct(failed, senior)
    note = Case.objects.get().actions.get(action="noted").note
    assert "a late retry is answered by the transfer" in note
    again = Phone(ada).pay(EXTERNAL, key=key)
    assert (again.status_code, again["Idempotent-Replayed"]) == (201, "true")
    assert json.loads(again.content)["state"] == "fulfilled"
