"""The database holds the rules of the inbox, whoever writes: asked here from raw SQL."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from fulfilment import store
from fulfilment.models import (
    EventStatus,
    ProviderEvent,
    ProviderEventAction,
    ProviderEventConflict,
)
from fulfilment.webhooks.applying import apply_due
from tests.integration.fulfilment.support import start
from tests.integration.webhooks.support import about, deliver, event, stored

pytestmark = pytest.mark.django_db

WAYS = {
    ("received", "parked"),
    ("received", "applied"),
    ("received", "dead"),
    ("parked", "applied"),
    ("parked", "dead"),
    ("dead", "received"),
    ("ignored", "received"),
    ("received", "set_aside"),
    ("parked", "set_aside"),
    ("dead", "set_aside"),
    ("set_aside", "received"),
}
ALL = sorted((a, b) for a in EventStatus.values for b in EventStatus.values if a != b)


def raw(statement: str, *values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def push(row: ProviderEvent, status: str) -> None:
    raw(
        "UPDATE provider_event SET status = %s, next_check_at = %s, applied_at = %s WHERE id = %s",
        status,
        store.now() if status in {"received", "parked"} else None,
        store.now() if status == "applied" else None,
        row.pk,
    )


def row_in(status: str) -> ProviderEvent:
    body = event("some.thing" if status == "ignored" else "transfer.failed", reference="r")
    deliver(body)
    if status not in {"received", "ignored"}:
        push(stored(body), status)
    return stored(body)


@pytest.mark.parametrize(("before", "after"), ALL)
def test_an_event_moves_on_only(before: str, after: str) -> None:
    row = row_in(before)
    if (before, after) in WAYS:
        push(row, after)
        return
    with pytest.raises(IntegrityError, match=f"there is no way from {before} to {after}"):
        push(row, after)


INSERT = """
INSERT INTO provider_event (provider, account, livemode, dedupe_key, type, digest, reference, status,
                            reason, checks, received_at, next_check_at, applied_at)
VALUES (%s, %s, %s, %s, 't', 'd', '', %s, '', 0, now(), %s, %s)
"""


def insert(**given: Any) -> None:
    whole = {"provider": "p", "account": "", "livemode": False, "key": "k", "status": "ignored"}
    values = whole | {"next": None, "applied": None} | given
    raw(INSERT, *values.values())


def test_the_same_event_is_on_record_once() -> None:
    insert()
    with pytest.raises(IntegrityError, match="provider_event_once"):
        insert()
    for other in ({"provider": "q"}, {"account": "a"}, {"livemode": True}, {"key": "l"}):
        insert(**other)


@pytest.mark.parametrize("column", ["provider", "account", "livemode", "key"])
def test_no_part_of_its_name_may_be_null(column: str) -> None:
    with pytest.raises(IntegrityError, match="null value"):
        insert(**{column: None})


@pytest.mark.parametrize("status", ["parked", "applied", "dead"])
def test_an_event_does_not_begin_as_applied(status: str) -> None:
    with pytest.raises(IntegrityError, match="begins as received or ignored"):
        insert(status=status)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"status": "received"}, "waiting_has_next_check"),
        ({"next": "2026-01-01T00:00Z"}, "waiting_has_next_check"),
        ({"applied": "2026-01-01T00:00Z"}, "applied_with_time"),
    ],
)
def test_what_waits_has_its_next_check_and_what_is_applied_has_its_time(given, rule) -> None:
    with pytest.raises(IntegrityError, match=rule):
        insert(**given)


@pytest.mark.parametrize(
    "change",
    [
        "dedupe_key = 'x'",
        "provider = 'x'",
        "account = 'x'",
        "livemode = true",
        "type = 'x'",
        "digest = 'x'",
        "reference = 'x'",
        "received_at = now()",
        "evidence_id = NULL",
        "fulfilment_id = NULL",
    ],
)
def test_what_is_written_of_an_event_stays(change: str) -> None:
    body = about(start())
    deliver(body)
    apply_due()
    with pytest.raises(IntegrityError, match="what is written of an event stays"):
        raw(f"UPDATE provider_event SET {change} WHERE id = %s", stored(body).pk)


def test_an_event_is_never_deleted() -> None:
    with pytest.raises(IntegrityError, match="never deleted"):
        raw("DELETE FROM provider_event WHERE id = %s", row_in("dead").pk)


@pytest.mark.parametrize("status", ["received", "parked"])
def test_the_body_of_an_event_that_waits_is_not_deleted(status: str) -> None:
    row = row_in(status)
    with pytest.raises(IntegrityError, match="its body is all that it has"):
        raw("DELETE FROM provider_event_payload WHERE event_id = %s", row.pk)


@pytest.mark.parametrize("status", ["applied", "dead", "ignored"])
def test_retention_may_delete_the_body_of_an_event_that_waits_no_more(status: str) -> None:
    row = row_in(status)
    raw("DELETE FROM provider_event_payload WHERE event_id = %s", row.pk)
    assert len(ProviderEvent.objects.get(pk=row.pk).digest) == 64


def test_a_body_is_never_changed() -> None:
    row = row_in("received")
    with pytest.raises(IntegrityError, match="append-only"):
        raw("UPDATE provider_event_payload SET body = 'x' WHERE event_id = %s", row.pk)


def conflict() -> ProviderEventConflict:
    for amount in (1, 2):
        deliver(event(id="evt_c", amount=amount))
    return ProviderEventConflict.objects.get()


@pytest.mark.parametrize("change", ["digest = 'x'", "body = 'x'", "received_at = now()"])
def test_what_is_written_of_a_conflict_stays(change: str) -> None:
    row = conflict()
    with pytest.raises(IntegrityError, match="what is written of a conflict stays"):
        raw(f"UPDATE provider_event_conflict SET {change} WHERE id = %s", row.pk)


def test_a_conflict_is_never_deleted_and_its_body_may_be_emptied() -> None:
    row = conflict()
    raw("UPDATE provider_event_conflict SET body = NULL WHERE id = %s", row.pk)
    with pytest.raises(IntegrityError, match="append-only"):
        raw("DELETE FROM provider_event_conflict WHERE id = %s", row.pk)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE provider_event_action SET note = 'something else'",
        "UPDATE provider_event_action SET actor = 'staff:b'",
        "DELETE FROM provider_event_action",
    ],
)
def test_what_was_done_to_an_event_by_hand_stays_on_record(statement: str) -> None:
    done = ProviderEventAction.Action.REPLAYED
    ProviderEventAction.objects.create(
        event=row_in("dead"), action=done, actor="staff:a", before="dead", acted_at=store.now()
    )
    with pytest.raises(IntegrityError, match="provider_event_action is append-only"):
        raw(statement)
