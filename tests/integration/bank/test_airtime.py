"""From the provider's event to the books: paid, delivered, failed, taken back."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings as project
from django.db import IntegrityError, connection, transaction

import fulfilment
from fulfilment.models import Fulfilment
from ledgerline.bank import airtime, errors
from ledgerline.bank.models import Account, Entry, Payment, Posting
from ledgerline.bank.payments import Order, record
from tests.integration.bank.conftest import Claim
from tests.integration.bank.desk import Opened

pytestmark = pytest.mark.django_db

ORDER = Order(amount=500_00, currency="NGN", phone="+2348012345678")


BORN_PAID = """
INSERT INTO bank_payment (id, reference, user_id, request_hash, amount, currency, phone, narration,
                          state, checkout_id, checkout_url, paid_at)
SELECT gen_random_uuid(), repeat('a', 32), user_id, '', 1, 'NGN', '1', '', 'paid', 'c', 'u', now()
  FROM bank_payment
"""


@dataclass(frozen=True)
class Event:
    """`payment.succeeded`, as the intake reads it."""

    reference: str | None
    amount: int | None = 500_00
    currency: str = "NGN"


@pytest.fixture
def payment(ada: Account, settings: Any) -> Payment:
    connectors = dict(project.FULFILMENT["CONNECTORS"])
    settings.FULFILMENT = project.FULFILMENT | {
        "CONNECTORS": connectors | {"airtime": connectors["sandbox"]}
    }
    return opened(ada)


def opened(account: Account) -> Payment:
    checkout = Opened("chk_1", "https://pay.example/chk_1", 500_00, "NGN", b"{}")
    return record(ORDER, checkout, claim=Claim(account.owner_id))


def paid(payment: Payment, *, event: str = "sandbox:evt_1") -> Fulfilment:
    arguments = airtime.payment_paid(Event(payment.reference))
    assert arguments is not None
    return fulfilment.start(**arguments, event_id=event, actor="provider:sandbox")


def now(payment: Payment) -> Payment:
    return Payment.objects.get(pk=payment.pk)


def books() -> dict[str, int]:
    """What the bank's own accounts have received, without what is zero."""
    totals: dict[str, int] = {}
    for name, amount in Entry.objects.filter(posting__payment__isnull=False).values_list(
        "account__name", "amount"
    ):
        totals[name] = totals.get(name, 0) + amount
    return {name: total for name, total in totals.items() if total}


def test_a_paid_checkout_is_booked_and_starts_its_airtime(payment: Payment) -> None:
    row = paid(payment)
    assert (now(payment).state, now(payment).paid_at is not None) == ("paid", True)
    assert books() == {"settlement": -500_00, "payable": 500_00}
    assert (row.kind, row.connector, row.payment_id) == (
        "airtime",
        "airtime",
        f"payment:{payment.reference}",
    )
    assert (row.amount, row.currency) == (500_00, "NGN")
    assert row.instruction == {"phone": "+2348012345678"}


def test_another_event_of_the_payment_books_nothing_and_starts_nothing(payment: Payment) -> None:
    first, second = paid(payment), paid(payment, event="sandbox:evt_2")
    assert first.pk == second.pk, "two events of one payment started two airtimes"
    airtime.on_fulfilled(first, None)
    assert paid(payment, event="sandbox:evt_3").pk == first.pk
    assert now(payment).state == "fulfilled", "a late event took the payment back"
    assert Posting.objects.filter(payment=payment, kind="collection").count() == 1


@pytest.mark.parametrize("reference", ["0" * 32, None, ""])
def test_an_event_of_an_unknown_payment_waits(payment: Payment, reference: str | None) -> None:
    assert airtime.payment_paid(Event(reference)) is None
    assert books() == {}


@pytest.mark.parametrize(("amount", "currency"), [(500_01, "NGN"), (500_00, "EUR"), (None, "NGN")])
def test_an_event_over_another_sum_starts_nothing(
    payment: Payment, amount: int | None, currency: str
) -> None:
    with pytest.raises(errors.PaymentMismatch):
        airtime.payment_paid(Event(payment.reference, amount, currency))
    assert (now(payment).state, books()) == ("open", {})


def test_delivered_airtime_is_earned(payment: Payment) -> None:
    airtime.on_fulfilled(paid(payment), None)
    assert now(payment).state == "fulfilled"
    assert books() == {"settlement": -500_00, "sales": 500_00}


def test_failed_airtime_leaves_the_money_owed_to_the_customer(payment: Payment) -> None:
    row = paid(payment)
    airtime.on_failed(row, None)
    assert now(payment).state == "refund_due"
    assert books() == {"settlement": -500_00, "payable": 500_00}
    with pytest.raises(errors.CorrectionDue):
        airtime.on_fulfilled(row, None)


def test_airtime_that_is_taken_back_is_owed_again(payment: Payment) -> None:
    row = paid(payment)
    airtime.on_fulfilled(row, None)
    airtime.on_reversed(row, None)
    assert (now(payment).state, now(payment).fulfilled_at is not None) == ("refund_due", True)
    assert books() == {"settlement": -500_00, "payable": 500_00}


def test_an_outcome_that_does_not_fit_changes_nothing(payment: Payment) -> None:
    row = paid(payment)
    airtime.on_fulfilled(row, None)
    for handler in (airtime.on_fulfilled, airtime.on_failed):
        with pytest.raises(errors.BooksRefused), transaction.atomic():
            handler(row, None)
    assert books() == {"settlement": -500_00, "sales": 500_00}


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE bank_payment SET amount = 1", "bank_payment_moves"),
        ("UPDATE bank_payment SET phone = '+1'", "bank_payment_moves"),
        ("UPDATE bank_payment SET checkout_url = 'https://evil'", "bank_payment_moves"),
        (
            "UPDATE bank_payment SET state = 'fulfilled', paid_at = now(), fulfilled_at = now()",
            "bank_payment_moves",
        ),
        ("UPDATE bank_payment SET state = 'paid'", "bank_payment_times_of_its_state"),
        ("UPDATE bank_payment SET paid_at = now()", "bank_payment_times_of_its_state"),
        ("DELETE FROM bank_payment", "append-only: DELETE refused"),
        (
            BORN_PAID,
            "bank_payment_begins_open",
        ),
    ],
)
def test_the_database_refuses_what_a_payment_cannot_be(
    payment: Payment, statement: str, rule: str
) -> None:
    with (
        pytest.raises(IntegrityError, match=rule),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_a_second_posting_of_one_kind_is_refused(payment: Payment) -> None:
    paid(payment)
    with pytest.raises(IntegrityError, match="one_per_payment_and_kind"), transaction.atomic():
        Posting.objects.create(kind="collection", payment=payment)
