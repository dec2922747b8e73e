"""Late truth: it was given up, the client was told so, and it happened all the same.

Never dropped and never silently applied. A person decides, and then either the verdict is
corrected, or a later payment for the same thing lives and this one was paid on top of it.
"""

import logging

from fulfilment import transitions
from fulfilment.errors import UnknownKind, VerdictRefused
from fulfilment.handlers import Corrections, handlers_of
from fulfilment.models import CaseAction, CaseReason, Evidence, Fulfilment
from fulfilment.reconcile import books, casebook
from fulfilment.states import FREES_THE_PAYMENT, State

log = logging.getLogger(__name__)


def correct(row: Fulfilment, *, evidence: Evidence, actor: str, reason: str) -> Fulfilment:
    """Take late truth into the books, under the row's lock and in the caller's transaction.

    Returns the row: fulfilled, or still failed where it was paid twice, which a case of its own
    and the project's own posting then say. Raises `VerdictRefused` where this kind takes no
    corrections or this very row is on record as paid twice, `HandlerFailed` as `books.settle`.
    """
    taken = refuse_impossible(row)
    if twin := twin_of(row):
        return _paid_twice(row, taken, evidence=evidence, actor=actor, twin=twin)
    return _corrected(row, taken, evidence=evidence, actor=actor, reason=reason)


def refuse_impossible(row: Fulfilment) -> Corrections:
    """How this kind takes late truth. Raises `VerdictRefused` where this row cannot be corrected."""
    taken = _corrections(row)
    if taken is None:
        raise VerdictRefused("Payments of this kind take no corrections here.")
    if already_paid_twice(row):
        raise VerdictRefused("It is on record as paid twice already.")
    return taken


def twin_of(row: Fulfilment) -> str:
    """What lives for the same thing, in words: a newer generation, or what the project knows of."""
    newer = Fulfilment.objects.filter(payment_id=row.payment_id, generation__gt=row.generation)
    alive = newer.exclude(state__in=sorted(FREES_THE_PAYMENT)).first()
    if alive is not None:
        return f"attempt {alive.reference} of the same payment, which is {_in_words(alive.state)}"
    taken = _corrections(row)
    return taken.twin(row) if taken is not None else ""


def already_paid_twice(row: Fulfilment) -> bool:
    """Was that found out before? It is posted once."""
    return row.cases.filter(reason=CaseReason.PAID_TWICE).exists()


def _corrections(row: Fulfilment) -> Corrections | None:
    try:
        return handlers_of(row.kind).corrections
    except UnknownKind:  # a page may still show what nobody handles any more
        return None


def _corrected(
    row: Fulfilment, taken: Corrections, *, evidence: Evidence, actor: str, reason: str
) -> Fulfilment:
    moved = transitions.move(row, to=State.FULFILLED, actor=actor, reason=reason, evidence=evidence)
    if moved is None:
        raise transitions.stale(row.pk)
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
