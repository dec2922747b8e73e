"""The database refuses books that do not balance or that change, whatever the code does."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from ledgerline.bank.models import Account, Entry, Hold, Posting, Transfer
from tests.integration.bank.conftest import Claim, customer, on_hand

pytestmark = pytest.mark.django_db


def sql(statement: str, *values: object) -> None:
    """Raw SQL, with the deferred constraints checked as at commit."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # what the test's set-up left to check
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute(statement, values)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def refused(rule: str):
    return pytest.raises(IntegrityError, match=rule)


POSTING = (
    "WITH p AS (INSERT INTO bank_posting (kind, description) VALUES ('funding', '') RETURNING id) "
)
ENTRIES = POSTING + "INSERT INTO bank_entry (posting_id, account_id, amount, currency) "


def test_a_posting_that_does_not_sum_to_zero_is_refused(ada: Account, bola: Account) -> None:
    with refused("does not sum to zero: -1 NGN"):
        sql(
            ENTRIES
            + "SELECT id, %s, -501, 'NGN' FROM p UNION ALL SELECT id, %s, 500, 'NGN' FROM p",
            ada.pk,
            bola.pk,
        )


def test_each_currency_of_a_posting_sums_to_zero_by_itself(ada: Account) -> None:
    euros = customer("erik", number="0123456722", funds=500, currency="EUR")
    with refused("does not sum to zero"):
        sql(
            ENTRIES
            + "SELECT id, %s, -500, 'EUR' FROM p UNION ALL SELECT id, %s, 500, 'NGN' FROM p",
            euros.pk,
            ada.pk,
        )


def test_a_posting_without_entries_is_refused(db: None) -> None:
    with refused("has no entries"):
        sql("INSERT INTO bank_posting (kind, description) VALUES ('funding', '')")


def test_an_old_posting_takes_no_entry_that_unbalances_it(ada: Account) -> None:
    with refused("does not sum to zero: 1 NGN"):
        sql(
            "INSERT INTO bank_entry (posting_id, account_id, amount, currency) "
            "VALUES (%s, %s, 1, 'NGN')",
            Posting.objects.get().pk,
            ada.pk,
        )


def test_an_entry_in_another_currency_than_its_account_is_refused(
    ada: Account, bola: Account
) -> None:
    with refused("bank_entry_currency_of_account"):
        sql(
            ENTRIES
            + "SELECT id, %s, -500, 'EUR' FROM p UNION ALL SELECT id, %s, 500, 'EUR' FROM p",
            ada.pk,
            bola.pk,
        )


@pytest.mark.parametrize("table", ["bank_entry", "bank_posting"])
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {} CASCADE"]
)
def test_what_was_written_in_the_books_stays(ada: Account, table: str, statement: str) -> None:
    with refused(f"{table} is append-only"):
        sql(statement.format(table))


@pytest.mark.parametrize("table", ["bank_transfer", "bank_hold"])
def test_transfers_and_holds_are_never_deleted(ada: Account, table: str) -> None:
    pending(ada)
    with refused(f"{table} is append-only"):
        sql(f"DELETE FROM {table}")


def test_a_balance_follows_its_entries_and_cannot_be_written(ada: Account) -> None:
    assert on_hand(ada) == (100_000, 0)
    with refused("balance and held follow entries and holds"):
        sql("UPDATE bank_account SET balance = 1 WHERE id = %s", ada.pk)
    with refused("an account opens empty"):
        Account.objects.create(
            number="0000000001", owner=ada.owner, kind="customer", currency="NGN", balance=5, held=0
        )


def test_more_than_the_balance_cannot_leave(ada: Account, bola: Account) -> None:
    with refused("bank_account_available_not_negative"):
        sql(
            ENTRIES
            + "SELECT id, %s, -100001, 'NGN' FROM p UNION ALL SELECT id, %s, 100001, 'NGN' FROM p",
            ada.pk,
            bola.pk,
        )


def test_held_money_cannot_leave(ada: Account, bola: Account) -> None:
    Hold.objects.create(account=ada, transfer=pending(ada), amount=100_000)
    with refused("bank_account_available_not_negative"):
        sql(
            ENTRIES + "SELECT id, %s, -1, 'NGN' FROM p UNION ALL SELECT id, %s, 1, 'NGN' FROM p",
            ada.pk,
            bola.pk,
        )


def test_more_than_the_balance_cannot_be_held(ada: Account) -> None:
    with refused("bank_account_available_not_negative"):
        Hold.objects.create(account=ada, transfer=pending(ada), amount=100_001)


def test_a_transfer_has_one_open_hold(ada: Account) -> None:
    transfer = pending(ada)
    Hold.objects.create(account=ada, transfer=transfer, amount=1)
    with refused("bank_hold_one_open_per_transfer"):
        Hold.objects.create(account=ada, transfer=transfer, amount=1)


def test_a_hold_changes_once(ada: Account) -> None:
    hold = Hold.objects.create(account=ada, transfer=pending(ada), amount=700)
    with refused("a hold changes once"):
        sql("UPDATE bank_hold SET amount = 1 WHERE id = %s", hold.pk)
    sql("UPDATE bank_hold SET state = 'released', closed_at = now() WHERE id = %s", hold.pk)
    assert on_hand(ada) == (100_000, 0)
    with refused("a hold changes once"):
        sql("UPDATE bank_hold SET state = 'captured' WHERE id = %s", hold.pk)


def test_an_internal_account_has_no_balance(ada: Account) -> None:
    funding = Account.objects.get(kind="internal", name="funding")
    assert (funding.balance, funding.held) == (None, None)
    with refused("bank_account_columns_of_its_kind"):
        Account.objects.create(
            number="9900000000", kind="internal", currency="NGN", balance=0, held=0
        )


def test_a_reference_names_one_transfer(ada: Account) -> None:
    first = pending(ada)
    with refused("bank_transfer_reference"):
        pending(ada, reference=first.reference)


def test_a_verdict_is_posted_once(ada: Account, bola: Account) -> None:
    transfer = pending(ada)
    statement = (
        "WITH p AS (INSERT INTO bank_posting (kind, description, transfer_id) "
        "VALUES ('capture', '', %s) RETURNING id) INSERT INTO bank_entry "
        "(posting_id, account_id, amount, currency) "
        "SELECT id, %s, -1, 'NGN' FROM p UNION ALL SELECT id, %s, 1, 'NGN' FROM p"
    )
    sql(statement, transfer.pk, ada.pk, bola.pk)
    with refused("bank_posting_one_per_transfer_and_kind"):
        sql(statement, transfer.pk, ada.pk, bola.pk)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("state = 'fulfilled'", "bank_transfer_times_of_its_state"),
        ("state = 'lost', decided_at = now()", "is no way"),
        ("state = 'reversed', decided_at = now(), reversed_at = now()", "is no way"),
        ("reversed_at = now()", "bank_transfer_reversed_at_when_reversed"),
        ("amount = 1", "keeps what was ordered"),
        ("to_account = '1111'", "keeps what was ordered"),
    ],
)
def test_a_transfer_moves_in_known_ways_and_keeps_its_order(
    ada: Account, change: str, rule: str
) -> None:
    transfer = pending(ada)
    with refused(rule):
        sql(f"UPDATE bank_transfer SET {change} WHERE id = %s", transfer.pk)


def pending(account: Account, *, reference: str | None = None) -> Transfer:
    with transaction.atomic():
        return Transfer.objects.create(
            reference=reference or uuid4().hex,
            user=account.owner,
            idempotency_key=Claim(account.owner.pk).key,
            request_hash="0" * 64,
            from_account=account,
            to_account="2233445566",
            to_bank="058",
            amount=700,
            currency=account.currency,
            state=Transfer.State.PENDING,
        )


def test_every_table_of_the_bank_is_guarded_by_name(db: None) -> None:
    """Constraints are told apart by their names, so each carries its table's."""
    tables = [model._meta.db_table for model in (Account, Transfer, Posting, Entry, Hold)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid::regclass::text = ANY(%s)", [tables]
        )
        names = [row[0] for row in cursor.fetchall()]
    strangers = [name for name in names if not name.startswith("bank_")]
    assert not strangers, f"constraints without their table's name: {strangers}"
