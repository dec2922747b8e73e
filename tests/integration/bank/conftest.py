"""A customer who pays, a payee, one who must see nothing."""

from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest
from django.db import transaction

import idempotency
from ledgerline.bank import accounts
from ledgerline.bank.models import Account, Posting, User
from ledgerline.bank.posting import Leg, post


@dataclass
class Claim:
    """What a transfer needs of a claim, without a request around it."""

    scope: UUID
    key: str = field(default_factory=lambda: str(uuid4()))
    fingerprint: str = "f" * 64

    @property
    def reference(self) -> str:
        return idempotency.reference_of(self.scope, self.key)


def customer(name: str, *, number: str, funds: int = 0, currency: str = "NGN") -> Account:
    """A new customer with one account that holds `funds` minor units."""
    owner = User.objects.create_user(username=name)
    account = accounts.open_for(owner, number=number, currency=currency)
    fund(account, funds)
    return account


def fund(account: Account, amount: int) -> None:
    funding = accounts.internal(Account.Role.FUNDING, currency=account.currency)
    if amount:
        with transaction.atomic():
            post(Leg(funding, -amount), Leg(account, amount), kind=Posting.Kind.FUNDING)
    account.refresh_from_db()


@pytest.fixture
def ada(db) -> Account:
    """The account of the customer who pays."""
    return customer("ada", number="0123456780", funds=100_000)


@pytest.fixture
def bola(db) -> Account:
    """The payee's account."""
    return customer("bola", number="0123456789")


@pytest.fixture
def eve(db) -> Account:
    """The account of the one who must see nothing."""
    return customer("eve", number="0123456711", funds=5_000)


def on_hand(account: Account) -> tuple[int, int]:
    """(balance, held) as the database has them."""
    account.refresh_from_db()
    return account.balance, account.held
