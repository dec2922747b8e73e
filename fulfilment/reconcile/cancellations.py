"""Takes back what was never sent. One attempt that may have left, and there is no way back."""

from typing import Any, TypeAlias

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from fulfilment import store, transitions
from fulfilment.errors import NotCancellable, VerdictRefused
from fulfilment.models import Attempt, CaseAction, CaseReason, Fulfilment
from fulfilment.reconcile import books, casebook, people
from fulfilment.states import State

Subject: TypeAlias = Fulfilment | str | int  # a row, its payment's id, its own id

# A mark is only ever made on an open attempt, so an open one counts as if it were marked. What went
# out under an earlier reference of the payment may turn out to be paid, so it counts as well.
_MAY_HAVE_LEFT = Q(sent_at__isnull=False) | Q(maybe_sent=True) | Q(closed_at__isnull=True)
_OF_THE_PAYMENT = Q(fulfilment__payment_id=OuterRef("payment_id"))
NEVER_SENT = Q(~Exists(Attempt.objects.filter(_MAY_HAVE_LEFT, _OF_THE_PAYMENT)))


def cancel(subject: Subject, *, actor: str, reason: str) -> Fulfilment:
    """Cancel a payment of which nothing was ever sent; joins the caller's transaction.

    `actor` as the journal shall name it. Asked again, it returns the row as it is and restamps
    nothing. Raises `NotCancellable` for everything that may have left us or is decided, and
    `HandlerFailed` where the project's books refuse; either way nothing is changed.
    """
    with transaction.atomic():
        row = _locked(subject)
        if row is None:
            raise NotCancellable
        if row.state == State.CANCELLED:
            return row
        return _cancel(row, actor=actor, reason=reason)


def cancel_by_hand(subject: Subject, *, actor: Any, note: str, version: int) -> Fulfilment:
    """As `cancel`, for a member of staff who says why; the note stays on a case.

    `version` is the fulfilment's as the person saw it. Raises `NotAllowed` without the permission
    `fulfilment.cancel_pending`, `Stale`, and what `cancel` raises.
    """
    name = people.require(actor, people.CANCEL)
    if not note.strip():
        raise VerdictRefused("Say why it is cancelled: the customer may ask.")
    with transaction.atomic():
        row = _locked(subject)
        if row is None:
            raise NotCancellable
        if row.state == State.CANCELLED:
            return row
        if row.version != version:
            raise transitions.stale(row.pk)
        case = casebook.open_case(row, reason=CaseReason.OPENED_BY_AGENT, actor=name)
        casebook.write(
            case, CaseAction.Action.RESOLVED, actor=name, verdict=State.CANCELLED, note=note
        )
        return _cancel(row, actor=name, reason=note)


def _locked(subject: Subject) -> Fulfilment | None:
    """Under the row's lock a worker can neither claim it nor have claimed it unseen."""
    match subject:
        case str():
            return store.lock_payment(subject)
        case Fulfilment():
            return store.lock(subject.pk)
        case int():
            return store.lock(subject)


def _cancel(row: Fulfilment, *, actor: str, reason: str) -> Fulfilment:
    if row.state != State.PENDING:
        raise NotCancellable(state=row.state)
    # State, version and "never sent" in the one statement that moves it.
    moved = transitions.move(
        row, to=State.CANCELLED, actor=actor, reason=reason, only_if=NEVER_SENT
    )
    if moved is None:
        raise NotCancellable(state=row.state)
    books.tell_cancelled(moved)
    casebook.close_case(moved, actor=actor, note=reason)
    return moved
