"""A transfer does what was ordered, or is refused with the code that says why."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError
from django.db.models.functions import Now

from fulfilment.models import Fulfilment
from ledgerline.bank import errors
from ledgerline.bank.models import Account, Hold, Posting, Transfer
from ledgerline.bank.transfers import Order, find, make
from tests.integration.bank.conftest import Claim, customer, on_hand

ON_US = Order(to_account="0123456789", amount=700, currency="NGN", narration="INV-1001")
EXTERNAL = replace(ON_US, to_bank="058", to_account="2233445566")


def test_on_us_moves_the_money_in_one_posting(ada: Account, bola: Account) -> None:
    claim = Claim(ada.owner_id)
    transfer = make(ON_US, claim=claim)
    assert (transfer.state, transfer.reference) == ("fulfilled", claim.reference)
    assert transfer.decided_at >= transfer.created_at
    assert (on_hand(ada), on_hand(bola)) == ((99_300, 0), (700, 0))
    assert Posting.objects.filter(transfer=transfer).count() == 1


def test_to_another_bank_the_money_is_held_and_a_fulfilment_begins(ada: Account) -> None:
    claim = Claim(ada.owner_id)
    transfer = make(EXTERNAL, claim=claim)
    assert (transfer.state, transfer.decided_at) == ("pending", None)
    assert on_hand(ada) == (100_000, 700)
    assert Hold.objects.get(transfer=transfer).state == "open"
    row = Fulfilment.objects.get(payment_id=f"transfer:{claim.reference}")
    assert (row.kind, row.event_id) == ("transfer", f"api:{claim.reference}")
    assert (row.state, row.amount, row.currency) == ("pending", 700, "NGN")
    assert row.instruction == {"bank": "058", "account": "2233445566", "narration": "INV-1001"}


def test_a_reference_finds_its_transfer(ada: Account, bola: Account) -> None:
    claim = Claim(ada.owner_id)
    assert find(claim.reference) is None
    assert make(ON_US, claim=claim) == find(claim.reference)


def test_the_payer_s_first_account_in_the_currency_is_taken(ada: Account, bola: Account) -> None:
    second = customer("second", number="0123456733", funds=900)
    Account.objects.filter(pk=second.pk).update(owner=ada.owner)
    assert make(ON_US, claim=Claim(ada.owner_id)).from_account == ada
    chosen = replace(ON_US, from_account="0123456733")
    assert make(chosen, claim=Claim(ada.owner_id)).from_account == second


@pytest.mark.parametrize(
    ("order", "refusal"),
    [
        (replace(ON_US, amount=100_001), errors.InsufficientBalance),
        (replace(EXTERNAL, amount=100_001), errors.InsufficientBalance),
        (replace(ON_US, to_account="0000000000"), errors.UnknownPayee),
        (replace(ON_US, to_account="9902140714"), errors.UnknownPayee),  # internal: funding, NGN
        (replace(ON_US, from_account="0000000000"), errors.UnknownAccount),
        (replace(ON_US, from_account="0123456711"), errors.UnknownAccount),  # eve's
        (replace(ON_US, currency="EUR"), errors.UnknownAccount),  # ada has none in EUR
        (replace(ON_US, to_account="0123456780"), errors.SameAccount),
        (replace(ON_US, currency="XAU"), errors.CurrencyUnsupported),
        (replace(ON_US, currency="USD"), errors.CurrencyUnsupported),
        (
            replace(ON_US, currency="EUR", from_account="0123456780"),
            errors.CurrencyMismatch,
        ),
        (replace(ON_US, to_account="0123456744"), errors.CurrencyMismatch),  # kept in EUR
        (replace(ON_US, amount=100_000_000_01), errors.LimitExceeded),
        (replace(EXTERNAL, amount=2**63 - 1), errors.LimitExceeded),
    ],
)
def test_a_refusal_names_its_reason(
    ada: Account, bola: Account, eve: Account, order: Order, refusal: type[errors.BankRefusal]
) -> None:
    customer("erik", number="0123456744", currency="EUR")
    with pytest.raises(refusal):
        make(order, claim=Claim(ada.owner_id))


def test_a_limit_is_stated_and_the_limit_itself_is_allowed(ada: Account, settings) -> None:
    settings.TRANSFER_LIMITS = {"NGN": 700}
    make(EXTERNAL, claim=Claim(ada.owner_id))
    with pytest.raises(errors.LimitExceeded) as refusal:
        make(replace(EXTERNAL, amount=701), claim=Claim(ada.owner_id))
    assert refusal.value.members == {"limit": 700}


@pytest.mark.parametrize("order", [ON_US, EXTERNAL], ids=["on us", "to another bank"])
def test_one_key_makes_one_transfer_even_without_its_record(
    ada: Account, bola: Account, settings: Any, order: Order
) -> None:
    """Whatever happens to the keys, to the limits and to the accounts: the reference stays."""
    claim = Claim(ada.owner_id)
    make(order, claim=claim)
    with pytest.raises(errors.MadeBefore):
        make(order, claim=claim)
    settings.TRANSFER_LIMITS = {"NGN": 1}
    Account.objects.update(frozen_at=Now())
    with pytest.raises(errors.MadeBefore):
        make(order, claim=claim)
    assert Transfer.objects.count() == 1, "a retry paid a second time"


def test_the_reference_itself_is_the_last_word(ada: Account, bola: Account) -> None:
    """Two requests of one reference at once: neither sees the other's transfer, and one fails."""
    earlier = make(ON_US, claim=Claim(ada.owner_id))
    twin = Transfer.objects.get(pk=earlier.pk)
    twin.pk = uuid4()
    with pytest.raises(IntegrityError, match="bank_transfer_reference"):
        twin.save(force_insert=True)


def test_what_the_call_returns_is_what_is_written(ada: Account, bola: Account) -> None:
    made = make(ON_US, claim=Claim(ada.owner_id))
    written = Transfer.objects.get(pk=made.pk)
    for field in Transfer._meta.concrete_fields:
        assert getattr(made, field.attname) == getattr(written, field.attname), field.name
    assert made.from_account.number == ada.number
    posting = Posting.objects.get(transfer=made)
    assert (posting.kind, posting.posted_at) == (Posting.Kind.TRANSFER, made.decided_at)


def test_every_refusal_has_a_page_that_explains_it() -> None:
    from idempotency.problems import registered

    for refusal in errors.REFUSALS:
        kind = registered()[refusal.code]
        assert kind.title == refusal.__doc__
        assert (kind.status, kind.retry, kind.safe_new_key) == (400, "new_key", True)
        assert kind.meaning
        assert kind.what_to_do


def test_transfers_of_another_bank_do_not_need_an_account_here(ada: Account) -> None:
    assert make(replace(EXTERNAL, to_account="0123456780"), claim=Claim(ada.owner_id))
    assert Transfer.objects.count() == 1
