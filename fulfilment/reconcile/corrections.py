"""Late truth: it was given up, the client was told so, and it happened all the same.

Never dropped and never silently applied. A person decides, and then either the verdict is
corrected, or a later payment for the same thing lives and this one was paid on top of it.
"""

import logging
from typing import Any

from fulfilment import store, transitions
from fulfilment.errors import UnknownKind, VerdictRefused
from fulfilment.handlers import Corrections, handlers_of
from fulfilment.models import CaseAction, CaseReason, Evidence, Fulfilment
from fulfilment.reconcile import books, casebook, generations, reading, timing
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.record import write
from fulfilment.states import FREES_THE_PAYMENT, OPEN, State

log = logging.getLogger(__name__)


def correct(row: Fulfilment, *, evidence: Evidence, actor: str, reason: str) -> Fulfilment:
    """Take late truth into the books, under the row's lock and in the caller's transaction.

    Returns the row: fulfilled, or still failed where it was paid twice, which a case of its own
    and the project's own posting then say. Where it was sent again under a newer reference that
    nobody has decided yet, nobody was told of the failure: the newer one is stopped, and the books
    hear of a success. Raises `VerdictRefused` where that one may have been sent, where this kind
    takes no corrections or this very row is on record as paid twice; `HandlerFailed` as
    `books.settle`.
    """
    refuse_impossible(row)
    if newer := supersedes(row):
        _stop(newer, by=row, actor=actor)
        return books.settle(row, to=State.FULFILLED, reason=reason, evidence=evidence, actor=actor)
    taken = _taken(row)
    if twin := twin_of(row):
        return _paid_twice(row, taken, evidence=evidence, actor=actor, twin=twin)
    return _corrected(row, taken, evidence=evidence, actor=actor, reason=reason)


def refuse_impossible(row: Fulfilment) -> None:
    """Raises `VerdictRefused` where this row cannot be corrected (now)."""
    if newer := supersedes(row):
        if not _nothing_of(newer):
            raise VerdictRefused(
                f"It was sent again as {newer.reference}, which may have been paid as well. "
                "Wait until that one is known."
            )
        return
    _taken(row)
    if already_paid_twice(row):
        raise VerdictRefused("It is on record as paid twice already: our books have it.")


def supersedes(row: Fulfilment) -> Fulfilment | None:
    """The newer reference of the payment that nobody has decided yet, if there is one."""
    newer = generations.newest_after(row)
    return newer if newer is not None and State(newer.state).is_open else None


def twin_of(row: Fulfilment) -> str:
    """What lives for the same thing, in words: a newer generation, or what the project knows of."""
    newer = Fulfilment.objects.filter(payment_id=row.payment_id, generation__gt=row.generation)
    paid = newer.exclude(state__in=sorted(FREES_THE_PAYMENT | OPEN)).first()
    if paid is not None:
        return f"reference {paid.reference} of the same payment, which is {_in_words(paid.state)}"
    taken = _corrections(row)
    return taken.twin(row) if taken is not None else ""


def already_paid_twice(row: Fulfilment) -> bool:
    """Was that found out before? It is posted once."""
    return row.cases.filter(reason=CaseReason.PAID_TWICE).exists()


def _nothing_of(newer: Fulfilment) -> bool:
    """Is it sure that nothing was paid under this reference, nor can be any more?"""
    situation = reading.situation_of(newer)
    not_done = situation.said(Finding.NOT_DONE) is not None
    return situation.fenced and (not_done or not situation.unresolved)


def _stop(newer: Fulfilment, *, by: Fulfilment, actor: str) -> None:
    """Give the newer reference up, before anything is sent under it; the books are not told."""
    newer = store.lock(newer.pk)  # always after the older one
    if not State(newer.state).is_open or not _nothing_of(newer):
        raise VerdictRefused("The newer reference was sent in this very moment: look again.")
    reason = f"the earlier reference {by.reference} was paid"
    if newer.state == State.PENDING:
        newer = _moved(newer, to=State.NEEDS_RECONCILIATION, actor=actor, reason=reason)
    said = write(
        newer,
        Statement(finding=Finding.NOT_DONE, detail=reason),
        source=Source.PERSON,
        actor=actor,
    )
    _moved(newer, to=State.FAILED, actor=actor, reason=reason, evidence=said)
    casebook.close_case(newer, actor=actor, note=reason)


def _moved(row: Fulfilment, *, to: State, **move: Any) -> Fulfilment:
    check = store.now() if to.is_open else None
    again = timing.first_recheck_at(row.connector) if to is State.FULFILLED else None
    moved = transitions.move(
        row, to=to, next_check_at=check, recheck_at=again, passing=to.is_open, **move
    )
    if moved is None:
        raise transitions.stale(row.pk)
    return moved


def _taken(row: Fulfilment) -> Corrections:
    taken = _corrections(row)
    if taken is None:
        raise VerdictRefused("Payments of this kind take no corrections here.")
    return taken


def _corrections(row: Fulfilment) -> Corrections | None:
    try:
        return handlers_of(row.kind).corrections
    except UnknownKind:  # a page may still show what nobody handles any more
        return None


def _corrected(
    row: Fulfilment, taken: Corrections, *, evidence: Evidence, actor: str, reason: str
) -> Fulfilment:
    moved = _moved(row, to=State.FULFILLED, actor=actor, reason=reason, evidence=evidence)
    corrected = books.told(lambda: taken.on_corrected(moved, evidence))
    _note(moved, corrected.note)
    casebook.close_case(moved, actor=actor, note=reason)
    if corrected.unsettled:
        casebook.open_case(moved, reason=CaseReason.SUSPENSE, actor=_BOOKS, note=corrected.note)
    return moved


def _paid_twice(
    row: Fulfilment, taken: Corrections, *, evidence: Evidence, actor: str, twin: str
) -> Fulfilment:
    note = books.told(lambda: taken.on_paid_twice(row, evidence))
    log.error("paid twice", extra={"action": "paid_twice", "reference": row.reference})
    casebook.close_case(row, actor=actor, note="it was paid on top of a later payment")
    casebook.open_case(
        row, reason=CaseReason.PAID_TWICE, actor=_BOOKS, note=f"Beside {twin}. {note}"
    )
    return row


_BOOKS = "system"  # Ledgerline itself speaks, of what its books did


def _note(row: Fulfilment, note: str) -> None:
    if note and (case := casebook.current(row)):
        casebook.write(case, CaseAction.Action.NOTED, actor=_BOOKS, note=note)


def _in_words(state: str) -> str:
    return state.replace("_", " ")
