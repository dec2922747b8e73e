"""The database holds the machine, whoever writes: asked here from raw SQL."""

from itertools import permutations
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from fulfilment import store
from fulfilment.models import (
    Attempt,
    Case,
    CaseAction,
    CaseReason,
    Evidence,
    Fulfilment,
    Payload,
    Transition,
)
from fulfilment.reconcile import casebook
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.record import write
from fulfilment.states import MOVES, OPEN, State
from tests.integration.fulfilment.support import held, now, start
from tests.integration.fulfilment.walk import ground, prepared, step, walked

pytestmark = pytest.mark.django_db

FORBIDDEN = sorted(pair for pair in permutations(State, 2) if pair not in MOVES)


def raw(statement: str, *values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def push(row: Fulfilment, to: State, *, version: int) -> None:
    raw(
        "UPDATE fulfilment SET state = %s, version = %s, next_check_at = %s, decided_at = %s"
        " WHERE id = %s",
        to,
        version,
        store.now() if to in OPEN else None,
        None if to in OPEN else store.now(),
        row.pk,
    )


@pytest.mark.parametrize(("before", "after"), FORBIDDEN)
def test_a_way_that_the_machine_does_not_have_is_refused(before: State, after: State) -> None:
    row = walked(start(), before)
    with pytest.raises(IntegrityError, match=f"there is no way from {before} to {after}"):
        push(row, after, version=row.version + 1)


@pytest.mark.parametrize(("before", "after"), sorted(MOVES))
def test_the_trigger_knows_every_way_of_the_code(before: State, after: State) -> None:
    row = walked(start(), before)
    evidence = ground(row, after)
    prepared(row, after)
    push(row, after, version=row.version + 1)
    with pytest.raises(IntegrityError, match="a state changed without its journal row"):
        raw("SET CONSTRAINTS ALL IMMEDIATE")
    Transition.objects.create(
        fulfilment=row,
        version=row.version + 1,
        before=before,
        after=after,
        actor="t",
        reason="t",
        evidence=evidence,
        moved_at=store.now(),
    )


@pytest.mark.parametrize("version", [0, 2, 7])
def test_a_move_counts_the_version_by_one(version: int) -> None:
    with pytest.raises(IntegrityError, match="a move from version 0 makes version 1"):
        push(start(), State.DISPATCHING, version=version)


def test_the_version_moves_with_the_state_only() -> None:
    with pytest.raises(IntegrityError, match="the version moves with the state only"):
        raw("UPDATE fulfilment SET version = 1 WHERE id = %s", start().pk)


@pytest.mark.parametrize("state", [s for s in State if s is not State.PENDING])
def test_no_row_begins_in_the_middle(state: State) -> None:
    row = start()
    values = (uuid4().hex, state, None if state not in OPEN else store.now(), row.pk)
    with pytest.raises(IntegrityError, match="begins as pending, version 0"):
        raw(
            "INSERT INTO fulfilment (kind, event_id, payment_id, generation, reference, connector,"
            " amount, currency, instruction, state, version, reason, next_check_at, checks,"
            " failed_starts, refusals, started_by, created_at, state_changed_at)"
            " SELECT kind, 'e2', 'p2', 1, %s, connector, amount, currency, instruction, %s, 0,"
            " reason, %s, 0, 0, 0, '', created_at, state_changed_at FROM fulfilment WHERE id = %s",
            *values,
        )


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("amount", 1),
        ("currency", "EUR"),
        ("reference", "0" * 32),
        ("payment_id", "another"),
        ("event_id", "another"),
        ("generation", 2),
        ("connector", "other"),
        ("kind", "other"),
        ("instruction", "{}"),
        ("started_by", "nobody"),
    ],
)
def test_what_a_fulfilment_is_for_never_changes(column: str, value: object) -> None:
    with pytest.raises(IntegrityError, match="what it is for never changes"):
        raw(f"UPDATE fulfilment SET {column} = %s WHERE id = %s", value, start().pk)


def test_an_open_row_always_has_its_next_check() -> None:
    with pytest.raises(IntegrityError, match="fulfilment_open_has_next_check"):
        raw("UPDATE fulfilment SET next_check_at = NULL WHERE id = %s", start().pk)


def test_records_are_append_only() -> None:
    row = start()
    attempt = held(row, sent=True)
    said = Statement(finding=Finding.UNKNOWN, body=b"x")
    evidence = write(row, said, source=Source.RESPONSE, actor="t", attempt=attempt)
    case = casebook.open_case(row, reason=CaseReason.DEADLINE, actor="t")
    tables = (Transition, Evidence, CaseAction)
    for table in tables:
        name = table._meta.db_table
        for verb in (f"UPDATE {name} SET actor = 'me'", f"DELETE FROM {name}"):
            with pytest.raises(IntegrityError, match=f"{name} is append-only"):
                raw(verb)
    for verb in ("DELETE FROM fulfilment_attempt", "DELETE FROM fulfilment_case"):
        with pytest.raises(IntegrityError, match=r"never deleted|append-only"):
            raw(verb)
    with pytest.raises(IntegrityError, match="never deleted"):
        raw("DELETE FROM fulfilment")
    with pytest.raises(IntegrityError, match="append-only"):
        raw("UPDATE fulfilment_payload SET body = 'y'")
    raw("DELETE FROM fulfilment_payload")  # retention may empty it, and the digest stays
    assert not Payload.objects.exists()
    assert Evidence.objects.get(pk=evidence.pk).digest
    assert Case.objects.filter(pk=case.pk).exists()


@pytest.mark.parametrize(
    "change",
    [
        "sent_at = clock_timestamp()",
        "lease_until = lease_until + interval '1 h'",
        "token = gen_random_uuid()",
        "worker = 'me'",
        "number = 9",
    ],
)
def test_what_is_written_of_an_attempt_stays(change: str) -> None:
    held(start(), sent=True)
    with pytest.raises(IntegrityError, match="what is written of an attempt stays"):
        raw(f"UPDATE fulfilment_attempt SET {change}")


def test_a_closed_attempt_stays_closed_and_cannot_send() -> None:
    row = start()
    held(row, sent=False)
    step(now(row), State.NEEDS_RECONCILIATION)
    with pytest.raises(IntegrityError, match="a closed attempt cannot send"):
        raw("UPDATE fulfilment_attempt SET sent_at = clock_timestamp()")
    with pytest.raises(IntegrityError, match="what is written of an attempt stays"):
        raw("UPDATE fulfilment_attempt SET closed_at = NULL, outcome = NULL")


def test_an_attempt_begins_open_and_not_sent() -> None:
    at = store.now()
    with pytest.raises(IntegrityError, match="begins open and not sent"), transaction.atomic():
        Attempt.objects.create(
            fulfilment=start(),
            number=1,
            token=uuid4(),
            claimed_at=at,
            lease_until=at.replace(year=at.year + 1),
            sent_at=at,
        )


def test_one_row_has_one_open_attempt() -> None:
    row = start()
    first = held(row, sent=True)
    with pytest.raises(IntegrityError, match="fulfilment_attempt_one_open"), transaction.atomic():
        Attempt.objects.create(
            fulfilment=row,
            number=2,
            token=uuid4(),
            claimed_at=first.claimed_at,
            lease_until=first.lease_until,
        )
