"""After a restored backup: what was open in it may have been sent since, and nobody here knows.

The attempts that the lost commits told of are gone. One closed attempt stands for them all: it counts
as sent, from the moment since which the row waited to the end of the last lease that a worker of the
lost days can still hold.
"""

import logging
from collections import Counter
from dataclasses import dataclass
from uuid import uuid4

from django.db import transaction

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.errors import HandlerFailed
from fulfilment.models import Attempt, Fulfilment
from fulfilment.reconcile import resolve
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.record import write
from fulfilment.states import OPEN, State

log = logging.getLogger(__name__)

RESTORE = "restore"
_REASON = "the database came back from a backup: it may have been sent since"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubted:
    """How many rows were taken back, by the state in which they were, and how many raised."""

    pending: int
    dispatching: int
    waiting: int  # were in reconciliation already, and wait for longer now
    failed: int


def doubt_all() -> Doubted:
    """Let nothing that is open be sent before it was asked about. Row by row, each for itself.

    Safe twice, and beside running workers: whose attempt is closed here may not call any more, and
    the answer to a call that it makes just now is evidence like any other.
    """
    ids = Fulfilment.objects.filter(state__in=OPEN).order_by("pk").values_list("pk", flat=True)
    found = Counter(_guarded(pk) for pk in list(ids))
    return Doubted(
        pending=found[State.PENDING],
        dispatching=found[State.DISPATCHING],
        waiting=found[State.NEEDS_RECONCILIATION],
        failed=found["failed"],
    )


def doubt(fulfilment_id: int) -> State | None:
    """Take one row back. Returns the state in which it was; None: there was nothing to doubt."""
    try:
        with transaction.atomic():
            row = store.lock(fulfilment_id)
            if not _is_in_doubt(row):
                return None
            attempt, before = _stand_in(row), State(row.state)
            if before is not State.NEEDS_RECONCILIATION:
                resolve.withdraw(row, actor=RESTORE, reason=_REASON, attempt=attempt)
            return before
    except HandlerFailed as error:
        with transaction.atomic():
            row = store.lock(fulfilment_id)
            before = State(row.state)
            resolve.set_aside(row, actor=RESTORE, why=error, attempt=_stand_in(row))
            return before


def _is_in_doubt(row: Fulfilment) -> bool:
    """Not if it is decided, nor if nothing was tried since it was doubted."""
    if row.state != State.NEEDS_RECONCILIATION:
        return row.state in OPEN
    last = row.attempts.order_by("-number").first()
    return last is None or not last.maybe_sent


def _stand_in(row: Fulfilment) -> Attempt:
    """Close what is open, and write the attempt that stands for all of which nothing is known."""
    store.close_doubted(row.pk)
    last, at = row.attempts.order_by("-number").first(), store.now()
    attempt = Attempt.objects.create(
        fulfilment=row,
        number=last.number + 1 if last else 1,
        token=uuid4(),
        worker=RESTORE,
        claimed_at=row.state_changed_at,
        lease_until=at + conf().lease,
        maybe_sent=True,
        closed_at=at,
        outcome=store.LOST,
    )
    said = Statement(finding=Finding.UNKNOWN, detail=_REASON)
    write(row, said, source=Source.SWEEP, actor=RESTORE, attempt=attempt)
    return attempt


def _guarded(pk: int) -> str | None:
    try:
        return doubt(pk)
    except Exception:
        log.exception("row not taken back", extra={"action": "restore_failed", "id": pk})
        return "failed"
