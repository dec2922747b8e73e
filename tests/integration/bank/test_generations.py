"""A transfer whose payment is sent again under a new reference: one hold, one key, one answer."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches

from fulfilment.dispatch import attempt
from fulfilment.models import Fulfilment
from fulfilment.reconcile import cases, lookups
from fulfilment.reconcile.evidence import Finding
from ledgerline.bank.models import Account, Posting
from tests.connectors.sandbox import Sandbox, until
from tests.integration.bank.conftest import on_hand
from tests.integration.bank.outside import EXTERNAL, row_of, says, sent
from tests.integration.bank.phone import Phone
from tests.integration.bank.test_corrections import shares
from tests.integration.fulfilment.support import InMemory, Provider, staff

pytestmark = pytest.mark.django_db

ALL = ("send_again", "resolve_fulfilled", "resolve_failed", "correct_failed", "ask_provider")


@pytest.fixture
def provider(settings: Any) -> Provider:
    """The other bank cannot be asked: what it said, it said by events."""
    made = Provider()
    made.can_be_asked = False
    connectors = {"sandbox": {"CLASS": InMemory, "PROVIDER": made}}
    settings.FULFILMENT = settings.FULFILMENT | {"HINT": None, "CONNECTORS": connectors}
    caches["default"].clear()
    return made


@pytest.fixture
def key() -> str:
    return str(uuid4())


def decide(row: Fulfilment, verdict: str, **given: Any) -> Fulfilment:
    asked = {"verdict": verdict, "evidence_reference": "statement 17", "version": row.version}
    who = staff(f"senior{uuid4().hex[:6]}", *ALL)
    return cases.resolve(row.pk, actor=who, **(asked | given))


@pytest.fixture
def resent(provider: Provider, ada: Account, key: str) -> str:
    """The location of a transfer whose first reference is not done and whose second waits."""
    location = Phone(ada).pay(EXTERNAL, key=key)["Location"]
    decide(sent(row_of(location)), "send_again")
    return location


def test_hold_transfer_and_key_stay_open_while_it_is_sent_again(ada, resent, key) -> None:
    phone = Phone(ada)
    assert on_hand(ada) == (100_000, 10_000)
    assert phone.get(resent).json()["state"] == "pending"
    again = phone.pay(EXTERNAL, key=key)
    assert (again.status_code, again["Location"]) == (409, resent), "the phone was told of an end"


def test_the_newer_reference_ends_the_transfer_and_answers_the_key(ada, resent, key) -> None:
    attempt.run(row_of(resent, generation=2).pk)
    answer = Phone(ada).pay(EXTERNAL, key=key)
    assert (answer.status_code, answer.json()["state"]) == (201, "fulfilled")
    assert on_hand(ada) == (90_000, 0)
    assert shares("capture") == {"customer": -10_000, "settlement": 10_000}


def test_a_failure_of_the_newer_one_gives_the_money_back_and_is_told(
    ada, resent, key, provider
) -> None:
    provider.will.append("decline")
    attempt.run(row_of(resent, generation=2).pk)
    assert Phone(ada).pay(EXTERNAL, key=key).json()["code"] == "transfer_failed"
    assert on_hand(ada) == (100_000, 0)


def test_the_customer_cannot_cancel_what_was_sent_under_an_earlier_reference(ada, resent) -> None:
    assert Phone(ada).post(f"{resent}/cancel").status_code == 409
    assert on_hand(ada) == (100_000, 10_000)


def test_late_truth_before_the_newer_is_sent_pays_the_transfer_once(
    ada, resent, key, provider
) -> None:
    says(row_of(resent), Finding.DONE)
    attempt.run(row_of(resent, generation=2).pk)
    decide(row_of(resent), "fulfilled")
    assert not provider.sends, "the newer reference was sent beside a payment"
    assert Phone(ada).pay(EXTERNAL, key=key).json()["state"] == "fulfilled"
    assert on_hand(ada) == (90_000, 0)
    assert shares("capture") == {"customer": -10_000, "settlement": 10_000}


@pytest.mark.long
@pytest.mark.processes
def test_two_payments_in_the_providers_books_cost_the_customer_one(
    ada, key, settings, tmp_path: Path
) -> None:
    """A person says “not done” of an order that the provider books only afterwards."""
    quick = {
        "LEASE": timedelta(seconds=1.4),
        "TOTAL_DEADLINE": timedelta(seconds=1),
        "MARGIN": timedelta(seconds=0.2),
        "LOOKUPS_PER_SECOND": 1000.0,
        "HINT": None,
    }
    sandbox = Sandbox(tmp_path / "books.jsonl")
    try:
        connectors = {"sandbox": sandbox.settings()}
        settings.FULFILMENT = settings.FULFILMENT | quick | {"CONNECTORS": connectors}
        caches["default"].clear()
        location = Phone(ada).pay(EXTERNAL, key=key)["Location"]
        first = row_of(location)
        sandbox.set_fault("ok_after", seconds=6, times=1)
        attempt.run(first.pk)
        until(lambda: _fenced(first), what="the fence")
        decide(row_of(location), "send_again")
        second = row_of(location, generation=2)
        attempt.run(second.pk)
        until(lambda: sandbox.payments(first.reference), what="the late booking")
        lookups.ask(first.pk, actor=staff("asker", *ALL))
        assert decide(row_of(location), "fulfilled").state == "failed"
        booked = [sandbox.payments(row.reference) for row in (first, second)]
    finally:
        sandbox.stop()
    assert [len(found) for found in booked] == [1, 1], "the provider's books have not two payments"
    assert on_hand(ada) == (90_000, 0), "the customer paid for both"
    assert shares("paid_twice") == {"suspense": -10_000, "settlement": 10_000}
    assert Posting.objects.filter(transfer__isnull=False).count() == 2
    answer = Phone(ada).pay(EXTERNAL, key=key)
    assert (answer.status_code, answer.json()["state"]) == (201, "fulfilled")
    assert first.cases.get(closed_at__isnull=True).reason == "paid_twice"


def _fenced(row: Fulfilment) -> bool:
    moment = cases.fenced_from(row.attempts.get())
    return moment is not None and moment <= lookups.store.now()


def test_of_three_references_that_were_all_paid_two_are_posted_as_paid_twice(
    ada, resent, provider
) -> None:
    decide(sent(row_of(resent, generation=2)), "send_again")
    attempt.run(row_of(resent, generation=3).pk)
    for generation in (1, 2):
        says(row_of(resent, generation=generation), Finding.DONE)
        decide(row_of(resent, generation=generation), "fulfilled")
    posted = Posting.objects.filter(kind="paid_twice").values_list("reference", flat=True)
    wanted = {row_of(resent, generation=generation).reference for generation in (1, 2)}
    assert set(posted) == wanted, (
        "the verdict on the second reference that was paid twice was undone: the books take one only"
    )
    assert on_hand(ada) == (90_000, 0), "the customer paid for what went out twice"
