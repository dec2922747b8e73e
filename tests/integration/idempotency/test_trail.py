"""The audit trail: what was done by hand is on record with who and why, and stays there."""

import pytest
from django.db import IntegrityError, connection, transaction

from idempotency import trail
from idempotency.models import AuditEntry
from tests.integration.idempotency.conftest import ADA, COMMITTING

pytestmark = COMMITTING


def settled(**changes: str) -> None:
    given = {"actor": "staff:eze", "action": "settled", "subject": trail.key_subject(ADA, "k")}
    trail.note(**(given | changes), details={"status": "201"})  # type: ignore[arg-type]


def test_an_entry_says_who_did_what_to_which_key_and_when() -> None:
    settled(reason="statement 7, line 3")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == ("staff:eze", "settled", f"key:{ADA}:k")
    assert (entry.reason, entry.details) == ("statement 7, line 3", {"status": "201"})
    assert entry.at is not None


def test_an_entry_is_undone_with_what_it_is_about() -> None:
    def undone() -> None:
        with transaction.atomic():
            settled()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    assert AuditEntry.objects.count() == 0, "an entry was committed for what was rolled back"


@pytest.mark.parametrize("part", ["actor", "action", "subject"])
def test_an_entry_without_who_or_what_is_refused(part: str) -> None:
    with pytest.raises(IntegrityError, match="idempotency_audit_says_who_and_what"):
        settled(**{part: ""})


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE idempotency_audit SET reason = 'another'",
        "DELETE FROM idempotency_audit",
        "TRUNCATE idempotency_audit",
    ],
)
def test_nobody_rewrites_the_trail(statement: str) -> None:
    settled()
    with (
        pytest.raises(IntegrityError, match="entries are added and stay as they are"),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert AuditEntry.objects.count() == 1


def test_an_empty_trail_does_not_stand_in_the_way_of_a_flush() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE idempotency_audit")
