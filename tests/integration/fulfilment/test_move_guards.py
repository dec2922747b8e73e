"""What each move needs beyond a way, held by the database: asked here from raw SQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from fulfilment import store
from fulfilment.models import Attempt, Evidence, Fulfilment, Source, Transition
from fulfilment.reconcile.evidence import Finding
from fulfilment.states import OPEN, State
from tests.integration.fulfilment.support import held, now, start
from tests.integration.fulfilment.walk import opened, said, step, walked

pytestmark = pytest.mark.django_db

LONG = timedelta(hours=3)  # a lease that began two hours ago and is not over


@contextmanager
def refused(rule: str) -> Iterator[None]:
    """What is done inside is refused, by the constraint of this very name."""
    by = ""
    try:
        yield
    except IntegrityError as error:
        by = getattr(getattr(error.__cause__, "diag", None), "constraint_name", "") or str(error)
    assert by, f"psql got through: {rule} is missing, or lets this pass"
    assert by == rule, f"refused by {by}, and not by {rule}"


def raw(statement: str, *values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def push(row: Fulfilment, to: State) -> Fulfilment:
    """Only the row, as psql would move it."""
    decided = None if to in OPEN else store.now()
    raw(
        "UPDATE fulfilment SET state = %s, version = version + 1, next_check_at = %s,"
        " decided_at = %s WHERE id = %s",
        to, None if decided else store.now(), decided, row.pk,
    )  # fmt: skip
    return now(row)


def journal(row: Fulfilment, before: State, **more: Any) -> None:
    """Only the journal's row of the last move."""
    with transaction.atomic():
        Transition.objects.create(
            fulfilment=row, version=row.version, before=before, after=row.state,
            actor="psql", reason="because", moved_at=store.now(), **more,
        )  # fmt: skip


def at_commit() -> None:
    raw("SET CONSTRAINTS ALL IMMEDIATE")


def ended(row: Fulfilment) -> None:
    store.close(row.attempts.get(closed_at__isnull=True).token, outcome="unknown")


@pytest.mark.parametrize("state", [State.PENDING, State.NEEDS_RECONCILIATION], ids=str)
def test_nothing_is_being_sent_without_an_open_attempt(state: State) -> None:
    row = walked(start(), state)
    if state is State.NEEDS_RECONCILIATION:
        row = step(row, State.PENDING)
    with refused("fulfilment_dispatching_by_open_attempt"):
        push(row, State.DISPATCHING)


@pytest.mark.parametrize("to", [State.FULFILLED, State.NEEDS_RECONCILIATION], ids=str)
def test_nothing_leaves_dispatching_with_its_attempt_open(to: State) -> None:
    row = walked(start(), State.DISPATCHING)
    with refused("fulfilment_dispatching_by_open_attempt"):
        push(row, to)


def test_nothing_waits_to_be_sent_again_with_an_open_attempt() -> None:
    row = walked(start(), State.NEEDS_RECONCILIATION)
    attempt = opened(row)
    with refused("fulfilment_dispatching_by_open_attempt"):
        push(row, State.PENDING)
    store.close(attempt.token, outcome="unsent")


@pytest.mark.parametrize("state", [State.PENDING, State.NEEDS_RECONCILIATION], ids=str)
def test_no_attempt_begins_without_its_move(state: State) -> None:
    attempt = opened(walked(start(), state))
    with refused("fulfilment_attempt_moves_its_row"):
        at_commit()
    store.close(attempt.token, outcome="unsent")


def test_no_attempt_ends_without_its_move() -> None:
    row = walked(start(), State.DISPATCHING)
    with refused("fulfilment_attempt_moves_its_row"), transaction.atomic():
        ended(row)
        at_commit()


def test_what_may_have_been_sent_is_never_cancelled() -> None:
    row = start()
    held(row, sent=True)
    row = step(step(now(row), State.NEEDS_RECONCILIATION), State.PENDING)
    with refused("fulfilment_cancelled_never_sent"):
        push(row, State.CANCELLED)


@pytest.mark.parametrize("how", ["sent", "maybe sent"])
def test_nothing_fails_while_an_attempt_may_still_be_under_way(how: str) -> None:
    row = start()
    attempt = opened(row, lease=LONG)
    row = push_sent(row, attempt, how)
    with refused("fulfilment_failed_when_fenced"):
        push(row, State.FAILED)


@pytest.mark.parametrize(
    ("answer", "fails"), [(Finding.NOT_DONE, True), (Finding.UNKNOWN, False)], ids=str
)
def test_only_its_own_answer_ends_an_attempt_before_its_lease(answer: Finding, fails: bool) -> None:
    row = start()
    attempt = opened(row, lease=LONG)
    row = push_sent(row, attempt, "sent")
    said(row, answer, source=Source.RESPONSE, attempt=attempt)
    if fails:
        assert step(row, State.FAILED).state == "failed"
        return
    with refused("fulfilment_failed_when_fenced"):
        push(row, State.FAILED)


def push_sent(row: Fulfilment, attempt: Attempt, how: str) -> Fulfilment:
    """Dispatching and back, with an attempt whose lease still runs."""
    mark = {"sent_at": attempt.claimed_at} if how == "sent" else {"maybe_sent": True}
    row = push(row, State.DISPATCHING)
    journal(row, State.PENDING, attempt=attempt)
    Attempt.objects.filter(pk=attempt.pk).update(**mark)
    return step(row, State.NEEDS_RECONCILIATION)


VERDICTS = [
    (State.NEEDS_RECONCILIATION, State.FULFILLED),
    (State.NEEDS_RECONCILIATION, State.FAILED),
    (State.DISPATCHING, State.FULFILLED),
    (State.FULFILLED, State.REVERSED),
    (State.FAILED, State.FULFILLED),
]
FITS = {
    State.FULFILLED: {Finding.DONE, Finding.REVERSED},
    State.FAILED: {Finding.NOT_DONE},
    State.REVERSED: {Finding.REVERSED},
}


def decided(before: State, to: State) -> Fulfilment:
    """The row moved to a verdict by psql, and the journal still to be written."""
    row = walked(start(), before)
    if before is State.DISPATCHING:
        ended(row)
    return push(row, to)


@pytest.mark.parametrize(("before", "to"), VERDICTS)
def test_a_verdict_names_conclusive_evidence_that_says_so(before: State, to: State) -> None:
    row = decided(before, to)
    for finding in set(Finding) - FITS[to]:
        with refused("fulfilment_verdict_on_evidence"):
            journal(row, before, evidence=said(row, finding, source=Source.PERSON))
    journal(row, before, evidence=said(row, min(FITS[to]), source=Source.PERSON))


@pytest.mark.parametrize(("before", "to"), VERDICTS)
def test_a_verdict_without_evidence_is_refused(before: State, to: State) -> None:
    row = decided(before, to)
    with refused("fulfilment_verdict_on_evidence"):
        journal(row, before)
    journal(row, before, evidence=said(row, min(FITS[to]), source=Source.PERSON))


def test_evidence_that_settles_nothing_is_none() -> None:
    row = decided(State.NEEDS_RECONCILIATION, State.FULFILLED)
    whole = {"source": "webhook", "finding": "done", "recorded_at": store.now(), "actor": "t"}
    guess = Evidence.objects.create(fulfilment=row, conclusive=False, **whole)
    with refused("fulfilment_verdict_on_evidence"):
        journal(row, State.NEEDS_RECONCILIATION, evidence=guess)
    journal(row, State.NEEDS_RECONCILIATION, evidence=said(row, Finding.DONE))


def test_a_move_goes_by_no_other_payments_evidence_or_attempt() -> None:
    other = start()
    foreign = held(other, sent=True)
    row = decided(State.NEEDS_RECONCILIATION, State.FULFILLED)
    before, done = State.NEEDS_RECONCILIATION, said(row, Finding.DONE)
    with refused("fulfilment_transition_by_its_own"):
        journal(row, before, evidence=said(other, Finding.DONE))
    with refused("fulfilment_transition_by_its_own"):
        journal(row, before, evidence=done, attempt=foreign)
    journal(row, before, evidence=done)


@pytest.mark.parametrize("change", [{"amount": 1}, {"currency": "EUR"}], ids=str)
def test_a_verdict_goes_by_evidence_about_the_same_amount(change: dict[str, Any]) -> None:
    row = decided(State.NEEDS_RECONCILIATION, State.FULFILLED)
    with refused("fulfilment_verdict_on_the_same_amount"):
        journal(row, State.NEEDS_RECONCILIATION, evidence=said(row, Finding.DONE, **change))
    journal(row, State.NEEDS_RECONCILIATION, evidence=said(row, Finding.DONE))


@pytest.mark.parametrize("source", [s for s in Source if s is not Source.PERSON], ids=str)
def test_only_a_person_corrects_a_failure(source: Source) -> None:
    row = decided(State.FAILED, State.FULFILLED)
    with refused("fulfilment_corrected_by_a_person"):
        journal(row, State.FAILED, evidence=said(row, Finding.DONE, source=source))
    journal(row, State.FAILED, evidence=said(row, Finding.DONE, source=Source.PERSON))


def test_the_journal_tells_only_of_the_move_that_was_just_made() -> None:
    row = start()
    with refused("fulfilment_journal_true"):
        journal(row, State.PENDING)
    opened(row)
    moved = push(row, State.DISPATCHING)
    for lie in ({"before": State.FULFILLED}, {"version": 2}, {"after": State.FULFILLED}):
        told = {"version": 1, "before": State.PENDING, "after": moved.state} | lie
        with refused("fulfilment_journal_true"), transaction.atomic():
            Transition.objects.create(
                fulfilment=row, actor="psql", reason="", moved_at=store.now(), **told
            )
    journal(moved, State.PENDING)


def test_evidence_is_about_an_attempt_of_its_own_payment() -> None:
    foreign = held(start(), sent=True)
    with refused("fulfilment_evidence_of_its_own_attempt"), transaction.atomic():
        said(start(), Finding.UNKNOWN, source=Source.RESPONSE, attempt=foreign)


@pytest.mark.parametrize("column", ["decided_at", "state_changed_at"])
def test_when_it_was_decided_is_never_dated_otherwise(column: str) -> None:
    row = walked(start(), State.FAILED)
    with refused("fulfilment_stamps_follow_state"):
        raw(f"UPDATE fulfilment SET {column} = now() - interval '1 day' WHERE id = %s", row.pk)


def test_a_verdict_and_only_a_verdict_has_its_time() -> None:
    row = walked(start(), State.NEEDS_RECONCILIATION)
    for verdict, at in (("failed", "NULL"), ("pending", "now()")):
        check = "NULL" if verdict == "failed" else "now()"
        with refused("fulfilment_decided_with_time"):
            raw(
                f"UPDATE fulfilment SET state = '{verdict}', version = version + 1,"
                f" decided_at = {at}, next_check_at = {check} WHERE id = %s",
                row.pk,
            )
