"""The one call that makes an on-us transfer judges as the books do, whoever else is at work (C098)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now

from ledgerline.bank import errors
from ledgerline.bank.models import Account, Posting, Transfer, User
from ledgerline.bank.transfers import Order, make
from tests.integration.bank.conftest import Claim, customer, on_hand
from tests.integration.bank.test_late_retry_race import closing, wait_until_blocked

ORDER = Order(to_account="0123456789", amount=700, currency="NGN")

COMMITTING = pytest.mark.django_db(
    transaction=True, available_apps=["idempotency", "fulfilment", "ledgerline.bank"]
)


def freeze_account(account: Account) -> None:
    Account.objects.filter(pk=account.pk).update(frozen_at=Now())


def freeze_owner(account: Account) -> None:
    User.objects.filter(pk=account.owner_id).update(frozen_at=Now())


def refused(payer: Account, order: Order = ORDER) -> tuple[type[Exception], dict[str, Any]]:
    with pytest.raises(errors.BankRefusal) as refusal:
        make(order, claim=Claim(payer.owner_id))
    assert not Transfer.objects.exists()
    assert not Posting.objects.filter(kind="transfer").exists()
    return type(refusal.value), dict(refusal.value.members)


@pytest.mark.parametrize(
    ("freeze", "refusal", "members"),
    [
        (freeze_account, errors.AccountFrozen, {"field": "fromAccount"}),
        (freeze_owner, errors.UserFrozen, {}),
    ],
)
def test_a_frozen_payer_pays_nothing(
    ada: Account,
    bola: Account,
    freeze: Callable[[Account], None],
    refusal: type[errors.BankRefusal],
    members: dict[str, str],
) -> None:
    freeze(ada)
    assert refused(ada) == (refusal, members)


@pytest.mark.parametrize("freeze", [freeze_account, freeze_owner])
def test_a_frozen_payee_gets_nothing_and_the_payer_learns_not_why(
    ada: Account, bola: Account, freeze: Callable[[Account], None]
) -> None:
    freeze(bola)
    assert refused(ada) == (errors.AccountFrozen, {"field": "toAccount"})


def test_which_account_has_the_wrong_currency_is_told(ada: Account, bola: Account) -> None:
    customer("erik", number="0123456744", currency="EUR")
    to_euros = Order(to_account="0123456744", amount=1, currency="NGN")
    from_naira = Order(to_account="0123456744", amount=1, currency="EUR", from_account=ada.number)
    assert refused(ada, to_euros) == (errors.CurrencyMismatch, {"field": "toAccount"})
    assert refused(ada, from_naira) == (errors.CurrencyMismatch, {"field": "fromAccount"})


def test_held_money_cannot_be_spent(ada: Account, bola: Account) -> None:
    held = Order(to_account="2233445566", to_bank="058", amount=99_500, currency="NGN")
    make(held, claim=Claim(ada.owner_id))
    with pytest.raises(errors.InsufficientBalance):
        make(ORDER, claim=Claim(ada.owner_id))
    assert on_hand(ada) == (100_000, 99_500)


@COMMITTING
@pytest.mark.parametrize("freeze", [freeze_account, freeze_owner])
def test_a_freeze_that_commits_while_the_transfer_waits_stops_it(
    freeze: Callable[[Account], None],
) -> None:
    ada = customer("ada", number="0123456780", funds=100_000)
    customer("bola", number="0123456789")
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Account.objects.select_for_update(no_key=True).get(pk=ada.pk)
            freeze(ada)
            paying = pool.submit(closing, in_transaction, ORDER, ada)
            wait_until_blocked()
        refusal = paying.exception(timeout=10)
    assert isinstance(refusal, errors.AccountFrozen | errors.UserFrozen), (
        f"{refusal!r}: money left a frozen account, which was judged by a row read before the lock"
    )


@COMMITTING
def test_two_spenders_of_the_same_money_do_not_both_get_it() -> None:
    ada = customer("ada", number="0123456780", funds=700)
    bola = customer("bola", number="0123456789")
    start = Barrier(2)

    def spend() -> bool:
        start.wait(timeout=30)
        try:
            in_transaction(ORDER, ada)
        except errors.InsufficientBalance:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        spent = [f.result() for f in [pool.submit(closing, spend) for _ in range(2)]]
    assert (sorted(spent), on_hand(ada), on_hand(bola)) == ([False, True], (0, 0), (700, 0)), (
        "the balance was judged on a row that was not locked: see bank_pay_on_us"
    )


def in_transaction(order: Order, payer: Account) -> Transfer:
    with transaction.atomic():
        return make(order, claim=Claim(payer.owner_id))
