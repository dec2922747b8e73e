"""What moves on the books, and what stops it."""

from threading import Barrier, Thread
from unittest.mock import ANY

import pytest
from django.db import connection, connections, transaction
from django.db.models.functions import Now

from ledgerline.bank import accounts, errors, holds
from ledgerline.bank.models import Account, Entry, Hold, Posting, User
from ledgerline.bank.posting import Leg, post
from ledgerline.bank.transfers import Order, make
from tests.integration.bank.conftest import Claim, customer, fund, on_hand


def move(payer: Account, payee: Account, amount: int, **more: object) -> Posting:
    return post(Leg(payer, -amount), Leg(payee, amount), kind=Posting.Kind.TRANSFER, **more)


def test_a_posting_moves_what_it_says(ada: Account, bola: Account) -> None:
    posting = move(ada, bola, 700)
    shares = posting.entries.order_by("amount").values_list("account", "amount", "currency")
    assert list(shares) == [(ada.pk, -700, "NGN"), (bola.pk, 700, "NGN")]
    assert (on_hand(ada), on_hand(bola)) == ((99_300, 0), (700, 0))


def test_the_last_unit_can_be_spent_and_not_one_more(ada: Account, bola: Account) -> None:
    with pytest.raises(errors.InsufficientBalance):
        move(ada, bola, 100_001)
    move(ada, bola, 100_000)
    assert on_hand(ada) == (0, 0)


def test_a_copy_read_before_money_left_is_not_believed(ada: Account, bola: Account) -> None:
    """`ada` still says 100,000 here; the locked row decides."""
    old = Account.objects.get(pk=ada.pk)
    move(ada, bola, 100_000)
    with pytest.raises(errors.InsufficientBalance):
        move(old, bola, 1)


def freeze_account(account: Account) -> None:
    Account.objects.filter(pk=account.pk).update(frozen_at=Now())


def freeze_owner(account: Account) -> None:
    User.objects.filter(pk=account.owner_id).update(frozen_at=Now())


@pytest.mark.parametrize(
    ("freeze", "refusal"),
    [(freeze_account, errors.AccountFrozen), (freeze_owner, errors.UserFrozen)],
)
def test_frozen_stops_money_at_once(ada: Account, bola: Account, freeze, refusal) -> None:
    """`ada` was read before the freeze, as by a request that is under way."""
    freeze(ada)
    with pytest.raises(refusal):
        move(ada, bola, 1)
    assert not Entry.objects.filter(account=bola).exists()


@pytest.mark.parametrize("freeze", [freeze_account, freeze_owner])
def test_a_frozen_payee_gets_nothing_and_the_payer_learns_not_why(
    ada: Account, bola: Account, freeze
) -> None:
    freeze(bola)
    with pytest.raises(errors.AccountFrozen) as refusal:
        move(ada, bola, 1)
    assert refusal.value.members == {"field": "toAccount"}


@pytest.mark.parametrize("freeze", [freeze_account, freeze_owner])
def test_frozen_stops_new_holds(ada: Account, freeze) -> None:
    transfer = make(external(), claim=Claim(ada.owner_id))
    holds.release(transfer)
    freeze(ada)
    with pytest.raises((errors.AccountFrozen, errors.UserFrozen)):
        holds.place(ada, amount=1, transfer=transfer)


def test_a_fact_is_posted_on_a_frozen_account(ada: Account) -> None:
    freeze_account(ada)
    freeze_owner(ada)
    settlement = accounts.internal(Account.Role.SETTLEMENT, currency="NGN")
    move(settlement, ada, 500, fact=True)
    assert on_hand(ada) == (100_500, 0)


def test_an_internal_account_is_opened_once_with_its_own_number(db: None) -> None:
    naira = accounts.internal(Account.Role.SUSPENSE, currency="NGN")
    assert accounts.internal(Account.Role.SUSPENSE, currency="NGN") == naira
    assert naira.number == "9901140714"
    assert accounts.internal(Account.Role.SUSPENSE, currency="EUR").number != naira.number


def test_held_money_leaves_only_through_its_hold(ada: Account, bola: Account) -> None:
    transfer = make(external(amount=60_000), claim=Claim(ada.owner_id))
    assert on_hand(ada) == (100_000, 60_000)
    with pytest.raises(errors.InsufficientBalance):
        move(ada, bola, 40_001)
    with pytest.raises(errors.InsufficientBalance):
        make(external(amount=40_001), claim=Claim(ada.owner_id))
    move(ada, bola, 40_000)
    holds.capture(transfer)
    assert on_hand(ada) == (0, 0)


def test_a_hold_is_closed_once(ada: Account) -> None:
    transfer = make(external(), claim=Claim(ada.owner_id))
    holds.release(transfer)
    before = list(Hold.objects.values())
    holds.release(transfer)
    with pytest.raises(errors.BooksRefused, match="has no open hold to be captured"):
        holds.capture(transfer)
    assert list(Hold.objects.values()) == before, "a second release restamped the first"


def test_what_was_paid_out_is_not_released(ada: Account) -> None:
    transfer = make(external(), claim=Claim(ada.owner_id))
    holds.capture(transfer)
    with pytest.raises(errors.BooksRefused, match="has no open hold to be released"):
        holds.release(transfer)
    assert list(Hold.objects.values_list("state", "closed_at")) == [("captured", ANY)]


def external(amount: int = 700) -> Order:
    return Order(to_account="2233445566", to_bank="058", amount=amount, currency="NGN")


ROUNDS, PAIRS = 10, 50


@pytest.mark.django_db(transaction=True)
def test_opposite_transfers_in_parallel_neither_deadlock_nor_lose_money() -> None:
    """50 threads A→B and B→A, ten rounds: every one goes through, and the books balance."""
    ada = customer("ada", number="0123456780", funds=100_000)
    bola = customer("bola", number="0123456789", funds=100_000)
    start, failed = Barrier(PAIRS), []

    def run(payer: Account, payee: Account) -> None:
        try:
            for _ in range(ROUNDS):
                start.wait(timeout=60)
                with transaction.atomic():
                    order = Order(to_account=payee.number, amount=7, currency="NGN")
                    make(order, claim=Claim(payer.owner_id))
        except Exception as error:  # noqa: BLE001  # judged below, in the main thread
            failed.append(error)
            start.abort()
        finally:
            connections.close_all()

    pairs = [(ada, bola), (bola, ada)] * (PAIRS // 2)
    threads = [Thread(target=run, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, (
        f"{failed[0]!r}: a deadlock means that accounts.lock() no longer orders by id; "
        "a lock time-out means that a transaction waits while it holds an account"
    )
    assert (on_hand(ada), on_hand(bola)) == ((100_000, 0), (100_000, 0))
    assert Posting.objects.filter(kind="transfer").count() == ROUNDS * PAIRS
    assert unbalanced() == [], "a posting does not sum to zero"


def unbalanced() -> list[tuple[int]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT posting_id FROM bank_entry GROUP BY 1 HAVING sum(amount) <> 0")
        return cursor.fetchall()


@pytest.mark.django_db(transaction=True)
def test_two_spenders_of_the_same_money_do_not_both_get_it() -> None:
    ada = customer("ada", number="0123456780", funds=100)
    bola = customer("bola", number="0123456789")
    start, refused = Barrier(2), []

    def spend() -> None:
        try:
            start.wait(timeout=30)
            with transaction.atomic():
                move(ada, bola, 100)
        except errors.InsufficientBalance as refusal:
            refused.append(refusal)
        finally:
            connections.close_all()

    threads = [Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (on_hand(ada), len(refused)) == ((0, 0), 1), (
        "the balance was judged on a row that was not locked: see accounts.lock()"
    )
    fund(ada, 1)
