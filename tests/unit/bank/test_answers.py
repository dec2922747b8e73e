"""What is said of a transfer, without a database."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from ledgerline.bank import answers
from ledgerline.bank.models import Account, Transfer


def transfer(**changes: object) -> Transfer:
    return Transfer(
        reference="0" * 32,
        from_account=Account(number="0123456780"),
        to_account="2233445566",
        to_bank="058",
        amount=700,
        currency="NGN",
        **{"state": "pending", "created_at": timezone.now()} | changes,
    )


@pytest.mark.parametrize(
    ("age", "seconds"),
    [(timedelta(0), 1), (timedelta(seconds=20), 20), (timedelta(days=2), 60)],
)
def test_the_wait_between_retries_grows_to_a_minute(age: timedelta, seconds: int) -> None:
    assert answers.retry_after(transfer(created_at=timezone.now() - age)) == seconds


def test_a_clock_that_is_behind_the_database_still_gives_a_wait() -> None:
    ahead = timezone.now() + timedelta(hours=1)
    assert answers.retry_after(transfer(created_at=ahead)) == 1


def test_a_time_is_rfc_3339_in_utc() -> None:
    assert answers.written_at(datetime(2026, 3, 1, 9, tzinfo=UTC)) == "2026-03-01T09:00:00.000000Z"
    assert answers.written_at(None) is None


def test_an_open_transfer_has_no_final_answer() -> None:
    with pytest.raises(ValueError, match="no outcome yet"):
        answers.final(transfer())


@pytest.mark.parametrize(
    ("state", "status", "code"),
    [
        ("fulfilled", 201, None),
        ("reversed", 201, None),
        ("failed", 400, "transfer_failed"),
        ("cancelled", 400, "transfer_cancelled"),
    ],
)
def test_every_outcome_has_its_final_answer(state: str, status: int, code: str | None) -> None:
    answer = answers.final(transfer(state=state))
    assert answer.status == status
    assert ("Location" in dict(answer.headers), b"2233445566" in answer.body) == (True, False)
    assert code is None or code.encode() in answer.body
