"""A day is closed once, whoever asks, and only while the books are right."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from idempotency import gate
from idempotency.models import GatedAction
from ledgerline import tasks
from ledgerline.bank import closing, errors
from ledgerline.bank.models import Account, Posting
from tests.integration.bank.phone import Phone

pytestmark = pytest.mark.django_db

DAY = closing.yesterday()


def unguarded(statement: str) -> None:
    """As somebody who goes past all triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(statement)
        cursor.execute("SET session_replication_role = origin")


@pytest.fixture
def moved(ada: Account, bola: Account) -> Account:
    """Two transfers of 100 naira, yesterday; a third one today."""
    for _ in range(3):
        Phone(ada).pay()
    today = Posting.objects.order_by("-pk")[0].pk
    unguarded(
        f"UPDATE bank_posting SET posted_at = posted_at - interval '1 day' WHERE id <> {today}"
    )
    return ada


def test_a_day_is_closed_with_what_moved_and_never_again(moved: Account) -> None:
    closed = closing.close_day(DAY)
    # ada's opening balance moved as well
    assert closed == {"day": DAY, "turnover": {"NGN": {"postings": 3, "amount": 120_000}}}
    unguarded("UPDATE bank_posting SET posted_at = posted_at - interval '9 days'")
    assert closing.close_day(DAY) == closed, "a closed day was counted again"
    assert GatedAction.objects.get().target == DAY


def test_another_spelling_of_the_day_is_the_same_day(moved: Account) -> None:
    assert closing.close_day(DAY.replace("-", "")) == closing.close_day(DAY)
    assert GatedAction.objects.count() == 1


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("UPDATE bank_account SET balance = balance {} 1 WHERE kind = 'customer'", "balances"),
        ("UPDATE bank_account SET held = held {} 1 WHERE kind = 'customer'", "held money"),
        ("UPDATE bank_entry SET amount = amount {} 1 WHERE amount > 0", "do not sum to zero"),
    ],
)
def test_a_day_is_not_closed_while_the_books_are_wrong(
    moved: Account, damage: str, what: str, caplog
) -> None:
    unguarded(damage.format("+"))
    with pytest.raises(errors.BooksRefused, match=what):
        closing.close_day(DAY)
    assert "books_wrong" in {getattr(record, "action", "") for record in caplog.records}
    assert not GatedAction.objects.exists(), "a day that was not closed keeps its slot"
    unguarded(damage.format("-"))
    assert closing.close_day(DAY)["day"] == DAY


def test_a_day_that_is_not_over_is_not_closed(db: None) -> None:
    today = datetime.now(UTC).date()
    for day in (today, today + timedelta(days=1)):
        with pytest.raises(errors.BooksRefused, match="not over yet"):
            closing.close_day(day.isoformat())
    with pytest.raises(ValueError, match="isoformat"):
        closing.close_day("yesterday")


def test_the_task_and_the_command_close_it_once(moved: Account) -> None:
    tasks.close_day()
    tasks.close_day()
    said = io.StringIO()
    call_command("close_day", stdout=said)
    assert json.loads(said.getvalue())["turnover"]["NGN"]["postings"] == 3
    assert GatedAction.objects.count() == 1
    with pytest.raises(CommandError, match="not over yet"):
        call_command("close_day", datetime.now(UTC).date().isoformat())
    with pytest.raises(CommandError, match="isoformat"):
        call_command("close_day", "soon")


@pytest.mark.django_db(transaction=True, available_apps=["idempotency", "ledgerline.bank"])
def test_four_workers_at_once_close_it_once(db: None) -> None:
    ready = Barrier(4)

    def work(_: int) -> Any:
        try:
            ready.wait(10)
            return closing.close_day(DAY)
        except gate.InProgress as running:
            return running
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(4)))
    assert {"day": DAY, "turnover": {}} in results, results
    assert GatedAction.objects.count() == 1, "the day was closed twice"
