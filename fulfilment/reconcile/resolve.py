"""Applies a verdict: the one place where evidence becomes a state, whoever brought it.

Three transactions, so that nothing that was said is ever lost. Evidence commits first
(`record`). The verdict and the project's handlers commit together, or not at all. Where a handler
raised, a third one takes the row out of the way and opens the case.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import assert_never

from django.db import transaction

from fulfilment import store, transitions
from fulfilment.errors import HandlerFailed
from fulfilment.models import Attempt, CaseReason, Fulfilment
from fulfilment.reconcile import aftermath, books, casebook, generations, policy, proposals, timing
from fulfilment.reconcile.reading import situation_of
from fulfilment.reconcile.situation import Situation
from fulfilment.reconcile.verdicts import (
    Ask,
    Conflict,
    Fail,
    Fulfil,
    OpenCase,
    Requeue,
    Reverse,
    Stand,
    Verdict,
    Wait,
)
from fulfilment.states import State

log = logging.getLogger(__name__)

RESOLVER = "resolver"

# What moves the row on in the same transaction: `needs_reconciliation` is then only passed through.
_DECIDES = (Fulfil, Reverse, Fail, Requeue)


def resolve(fulfilment_id: int, *, news: Iterable[int] = (), asked: bool = False) -> Fulfilment:
    """Judge everything that is on record about the row, and apply the verdict.

    A row that an open attempt holds is left alone: whoever takes it out of `dispatching` reads
    the same evidence. `news` are ids of evidence that was just recorded; `asked` says that a
    look-up of the schedule was made, so the next one is due.
    """
    try:
        with transaction.atomic():
            row = store.lock(fulfilment_id)
            if row.attempts.filter(closed_at__isnull=True).exists():
                return row
            row = _apply(row, actor=RESOLVER, news=news, asked=asked)
            proposals.refresh(row, news=news)
            return row
    except HandlerFailed as error:
        with transaction.atomic():
            return set_aside(store.lock(fulfilment_id), actor=RESOLVER, why=error)


def leave_dispatching(
    fulfilment_id: int,
    *,
    close: Callable[[Fulfilment], Attempt | None],
    actor: str,
    news: Iterable[int] = (),
    wait: bool = True,
) -> Fulfilment | None:
    """Close the attempt and judge the row in one transaction, so nothing stays in between.

    `close` ends the attempt under the row's lock; None from it: somebody else did, and nothing
    is changed. Without `wait`, a row that is locked just now counts as somebody else's. Returns
    the row as it is then, or None.
    """
    take = store.lock if wait else store.lock_unless_taken
    try:
        with transaction.atomic():
            row = take(fulfilment_id)
            attempt = close(row) if row else None
            if row is None or attempt is None:
                return None
            row.refresh_from_db()
            row = _apply(row, actor=actor, attempt=attempt, news=news)
            proposals.refresh(row, news=news)
            return row
    except HandlerFailed as error:
        with transaction.atomic():
            row = store.lock(fulfilment_id)
            attempt = close(row)
            return set_aside(row, actor=actor, why=error, attempt=attempt) if attempt else None


def withdraw(
    row: Fulfilment, *, actor: str, reason: str, attempt: Attempt | None = None
) -> Fulfilment:
    """Take a row back: its reference must not be sent now. Under its lock, no attempt open."""
    situation = situation_of(row)
    row = _into_reconciliation(row, situation, actor=actor, reason=reason, attempt=attempt)
    return _apply(row, actor=actor)


def set_aside(
    row: Fulfilment, *, actor: str, why: HandlerFailed, attempt: Attempt | None = None
) -> Fulfilment:
    """Open a case for a row whose outcome is known but does not fit into the books."""
    log.error(
        "handler failed",
        extra={"action": "handler_failed", "reference": row.reference, "kind": row.kind},
        exc_info=why,
    )
    if not State(row.state).is_open:
        return aftermath.set_aside(row, actor=actor, why=why)
    row = _into_reconciliation(
        row, situation_of(row), actor=actor, reason=HandlerFailed.code, attempt=attempt
    )
    casebook.open_case(row, reason=CaseReason.HANDLER_FAILED, actor=actor, note=str(why))
    return timing.reschedule(row, situation_of(row), asked=True)


def _apply(
    row: Fulfilment,
    *,
    actor: str,
    attempt: Attempt | None = None,
    news: Iterable[int] = (),
    asked: bool = False,
) -> Fulfilment:
    situation = situation_of(row, news=news)
    verdict = policy.decide(situation)
    if not situation.state.is_open:
        _look_at_newer(row)
        return aftermath.apply(row, verdict, actor=actor)
    if situation.state is State.PENDING and isinstance(verdict, Requeue | Wait | OpenCase):
        return row  # it already waits to be sent, and nothing was learnt that forbids it
    if not (situation.state is State.DISPATCHING and isinstance(verdict, Fulfil)):
        row = _into_reconciliation(
            row,
            situation,
            actor=actor,
            reason=verdict.reason,
            attempt=attempt,
            passing=isinstance(verdict, _DECIDES),
        )
    return _carry_out(row, verdict, situation, actor=actor, attempt=attempt, asked=asked)


def _look_at_newer(row: Fulfilment) -> None:
    """What is learnt of an earlier generation may stop the one that lives (`policy`).

    After the commit: a process that dies in between leaves it to the claim, which asks again.
    """
    newer = generations.newest_after(row)
    if newer is not None and State(newer.state).is_open and generations.paid_before(newer):
        transaction.on_commit(partial(resolve, newer.pk), robust=True)


def _carry_out(
    row: Fulfilment,
    verdict: Verdict,
    situation: Situation,
    *,
    actor: str,
    attempt: Attempt | None,
    asked: bool,
) -> Fulfilment:
    match verdict:
        case Fulfil() | Reverse() | Fail():
            return books.apply(row, verdict, actor=actor, attempt=attempt)
        case Requeue():
            if verdict.case:
                casebook.open_case(row, reason=CaseReason(verdict.case), actor=actor)
            return timing.requeue(row, verdict, actor=actor, at=situation.now)
        case Wait():
            return timing.reschedule(row, situation, until=verdict.until, asked=asked)
        case OpenCase():
            casebook.open_case(row, reason=CaseReason(verdict.case), actor=actor)
            return timing.reschedule(row, situation, until=verdict.until, asked=asked)
        case Conflict():
            casebook.open_case(row, reason=CaseReason.CONFLICT, actor=actor, note=verdict.reason)
            return timing.reschedule(row, situation, asked=asked)
        case Stand() | Ask():
            return row  # about a verdict that was given, and this row has none
        case _:
            assert_never(verdict)


def _into_reconciliation(
    row: Fulfilment,
    situation: Situation,
    *,
    actor: str,
    reason: str,
    attempt: Attempt | None,
    passing: bool = False,
) -> Fulfilment:
    if row.state == State.NEEDS_RECONCILIATION:
        return row
    moved = transitions.move(
        row,
        to=State.NEEDS_RECONCILIATION,
        actor=actor,
        reason=reason,
        attempt=attempt,
        next_check_at=timing.first_check_at(situation),
        passing=passing,
    )
    if moved is None:  # the row is locked: nobody can have moved it
        raise transitions.stale(row.pk)
    return moved
