"""The whole service pays through a bank: phone, web server, worker, beat, a faulty wire, the bank."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections, transaction

from fulfilment.models import Fulfilment
from ledgerline.bank.models import Account, Entry, Transfer
from tests.concurrency.fulfilments import scratch_database
from tests.concurrency.whole.house import Customer, House, unbalanced
from tests.connectors.iso20022 import wires
from tests.connectors.iso20022.bank import CREDITOR, MockBank, running
from tests.connectors.iso20022.wires import Wire
from tests.connectors.iso20022.workers import environment
from tests.connectors.sandbox import until
from tests.integration.bank.conftest import customer
from tests.recovery.stack import BOUND
from tests.recovery.stack import running as at_work

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.processes,
    pytest.mark.long,
    pytest.mark.timeout(240),
]

ORDER = {
    "toBank": "MOCKNL2A",
    "toAccount": CREDITOR,
    "amount": 10_50,
    "currency": "EUR",
    "narration": "INV-1",
}
QUICK = {
    "ISO20022_VISIBLE_AFTER": "0.2",
    "ISO20022_NOT_FOUND_FINAL_AFTER": "1",
    "FULFILMENT_MAILBOX_EVERY": "0.5",
    "FULFILMENT_SECOND_PERSON_ABOVE": "",
}


@pytest.fixture(scope="module")
def _copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Rows that processes write are not ours to roll back, so they go with the copy."""
    with django_db_blocker.unblock(), scratch_database():
        yield
        connections.close_all()


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockBank]:
    with running(tmp_path_factory.mktemp("bank")) as made:
        yield made


@pytest.fixture(scope="module")
def wire(bank: MockBank) -> Iterator[Wire]:
    with wires.to(bank.port) as made:
        yield made


@pytest.fixture(scope="module")
def house(_copy: None, wire: Wire, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    made = House(tmp_path_factory.mktemp("house"))
    made.stack.environment |= environment(wire.url) | QUICK
    with at_work(made.stack):
        worker = made.stack.worker("worker")
        made.stack.beat("beat")
        made.open()
        made.stack.ready(worker)
        yield made
        made.close()


@pytest.fixture
def _django_db_helper(house: House) -> None:
    """In place of pytest-django's: no transaction and no flush, for others are at work all the time."""


@pytest.fixture(scope="module")
def ada(house: House) -> Iterator[Customer]:
    with transaction.atomic():
        account = customer("ada-in-euros", number="4400000077", funds=1_000_00, currency="EUR")
    made = Customer(house, account)
    yield made
    made.leave()


def order(ada: Customer, key: str) -> Any:
    """The first answer: taken, and not decided."""
    told = ada.post("/v1/transfers", ORDER, key=key)
    assert told.status_code == 202, told.text
    return told.json()["id"]


def decided(ada: Customer, key: str, transfer: Any, state: str = "fulfilled") -> Any:
    """The final answer of the key, and what the resource says."""
    answer = ada.final(key, **ORDER)
    assert answer.json()["id"] == transfer, "the phone was told of another transfer"
    until(lambda: resource(ada, transfer)["state"] == state, what=f"{state}", seconds=BOUND)
    return answer


def resource(ada: Customer, transfer: Any) -> Any:
    return ada._web.get(f"/v1/transfers/{transfer}").raise_for_status().json()


def row_of(transfer: Any) -> Fulfilment:
    reference = Transfer.objects.get(pk=transfer).reference
    return Fulfilment.objects.get(payment_id=f"transfer:{reference}")


def balance(ada: Customer) -> int:
    account = Account.objects.get(pk=ada.account.pk)
    return int(account.balance - account.held)


def test_a_lost_answer_of_the_bank_is_found_and_the_phone_gets_its_one_transfer(
    house: House, ada: Customer, bank: MockBank, wire: Wire
) -> None:
    before, key = balance(ada), str(uuid4())
    wire.lose_answers()
    transfer = order(ada, key)
    row = row_of(transfer)
    until(lambda: bool(bank.payments(row.reference)), what="the bank to have it", seconds=BOUND)
    wire.heal()
    answer = decided(ada, key, transfer)
    assert (answer.status_code, bank.paid(row.reference)) == (201, 1)
    again = ada.post("/v1/transfers", ORDER, key=key)
    assert again.content == answer.content, "another answer for one tap"
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (before - balance(ada), unbalanced()) == (10_50, [])


def test_a_lost_request_to_the_bank_goes_again_under_one_reference_and_is_paid_once(
    house: House, ada: Customer, bank: MockBank, wire: Wire
) -> None:
    """The payment before it is the canary."""
    before, key = balance(ada), str(uuid4())
    wire.lose_requests()
    transfer = order(ada, key)
    row = row_of(transfer)
    lost = Fulfilment.objects.filter(pk=row.pk, state="needs_reconciliation")
    until(lost.exists, what="the request to be lost", seconds=BOUND)
    assert bank.payments(row.reference) == [], "it arrived, so nothing is proved"
    wire.heal()
    answer = decided(ada, key, transfer)
    assert (answer.status_code, bank.paid(row.reference)) == (201, 1)
    assert len(bank.payments(row.reference)) == 1, "the bank has two payments for one tap"
    assert (before - balance(ada), unbalanced()) == (10_50, [])


def test_what_the_bank_gives_back_days_later_is_booked_beside_what_was_paid(
    house: House, ada: Customer, bank: MockBank, wire: Wire
) -> None:
    before, key = balance(ada), str(uuid4())
    bank.behave("return-later", days=2)
    transfer = order(ada, key)
    answer = decided(ada, key, transfer)
    paid = list(Entry.objects.filter(account=ada.account).values_list("pk", flat=True))
    bank.advance(6)
    until(lambda: resource(ada, transfer)["state"] == "reversed", what="the return", seconds=BOUND)
    entries = Entry.objects.filter(account=ada.account)
    assert entries.filter(pk__in=paid).count() == len(paid), "an entry of the books was taken away"
    assert entries.exclude(pk__in=paid).get().amount == 10_50
    assert (balance(ada), unbalanced()) == (before, [])
    again = ada.post("/v1/transfers", ORDER, key=key)
    assert (again.status_code, again.content) == (201, answer.content), "the key's answer changed"
    row = row_of(transfer)
    assert row.transitions.filter(after="reversed").count() == 1
    assert bank.paid(row.reference) == 1
