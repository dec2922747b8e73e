"""Leads a row through states with all that each move needs: an attempt, evidence, the journal."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.db import transaction

from fulfilment import store, transitions
from fulfilment.models import Attempt, Evidence, Fulfilment
from fulfilment.reconcile.evidence import HAPPENED, Finding, Source, Statement
from fulfilment.reconcile.record import write
from fulfilment.states import OPEN, State

ROUTES = {
    State.PENDING: (),
    State.DISPATCHING: (State.DISPATCHING,),
    State.NEEDS_RECONCILIATION: (State.NEEDS_RECONCILIATION,),
    State.FULFILLED: (State.NEEDS_RECONCILIATION, State.FULFILLED),
    State.FAILED: (State.NEEDS_RECONCILIATION, State.FAILED),
    State.CANCELLED: (State.CANCELLED,),
    State.REVERSED: (State.NEEDS_RECONCILIATION, State.FULFILLED, State.REVERSED),
}
FINDING = {
    State.FULFILLED: Finding.DONE,
    State.FAILED: Finding.NOT_DONE,
    State.REVERSED: Finding.REVERSED,
}


def walked(row: Fulfilment, to: State) -> Fulfilment:
    """The row after its shortest way from `pending` to this state."""
    for state in ROUTES[to]:
        row = step(row, state)
    return row


@transaction.atomic
def step(row: Fulfilment, to: State, *, actor: str = "t") -> Fulfilment:
    """The row after one move, by an attempt or evidence that is made for it."""
    attempt = prepared(row, to)
    moved = transitions.move(
        row,
        to=to,
        actor=actor,
        reason="t",
        attempt=attempt,
        evidence=ground(row, to),
        next_check_at=store.now() if to in OPEN else None,
    )
    assert moved is not None, "somebody else moved it"
    return moved


def prepared(row: Fulfilment, to: State) -> Attempt | None:
    """The attempt that the move is about: opened by it, or ended before it."""
    if to is State.DISPATCHING:
        return opened(row)
    held = row.attempts.filter(closed_at__isnull=True).first()
    if held is not None:
        store.close(held.token, outcome="unknown")
    return held


def opened(row: Fulfilment, *, lease: timedelta = timedelta(seconds=30), **more: Any) -> Attempt:
    """An open attempt of a row, whose lease is over since two hours."""
    claimed_at = store.now() - timedelta(hours=2)
    whole: dict[str, Any] = {
        "fulfilment": row,
        "number": row.attempts.count() + 1,
        "token": uuid4(),
        "claimed_at": claimed_at,
        "lease_until": claimed_at + lease,
    }
    return Attempt.objects.create(**(whole | more))


def ground(row: Fulfilment, to: State) -> Evidence | None:
    """Evidence for a verdict; a failure is corrected on a person's word only."""
    if to not in FINDING:
        return None
    by_hand = row.state == State.FAILED
    return said(row, FINDING[to], source=Source.PERSON if by_hand else Source.LOOKUP)


def said(
    row: Fulfilment, finding: Finding, *, source: Source = Source.LOOKUP, **more: Any
) -> Evidence:
    """Somebody's word on the row, with its amount where it says that it happened."""
    named = finding in HAPPENED and source is not Source.PERSON
    known = {"amount": row.amount, "currency": row.currency} if named else {}
    attempt = more.pop("attempt", None)
    return write(
        row, Statement(finding=finding, **(known | more)), source=source, actor="t", attempt=attempt
    )
