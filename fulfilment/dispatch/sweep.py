"""Takes back what a dead or lost worker held, and opens what waits for too long."""

import logging

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Subquery
from django.db.models.functions import Greatest

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.models import Attempt, Case, CaseReason, Fulfilment
from fulfilment.reconcile import casebook, resolve, timing
from fulfilment.reconcile.attempts import HARMLESS
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.record import write
from fulfilment.states import State

log = logging.getLogger(__name__)

SWEEPER = "sweeper"
UNSENT = "unsent"  # how the store closes an attempt that was never marked


def sweep() -> int:
    """Close every attempt whose lease is over and judge its row. Returns how many rows moved.

    Row by row, so one that fails does not keep the others, and comes last the next time; so does
    one that takes this process with it.
    """
    expired = Fulfilment.objects.filter(
        state=State.DISPATCHING,
        attempts__closed_at__isnull=True,
        attempts__lease_until__lte=store.now(),
    )
    ids = list(expired.order_by("next_check_at").values_list("pk", flat=True)[: conf().batch])
    return sum(_guarded(pk) for pk in ids)


def open_cases_for_waiting() -> int:
    """Ask a person about rows that wait to be sent for longer than `pending_deadline`.

    Counted from the start, or from the end of the last attempt that may have arrived: a refused
    connection begins no new wait.
    """
    arrived = Attempt.objects.filter(fulfilment=OuterRef("pk"), closed_at__isnull=False).exclude(
        outcome__in=(*HARMLESS, UNSENT)
    )
    since = Greatest("created_at", Subquery(arrived.order_by("-number").values("closed_at")[:1]))
    asked = Case.objects.filter(fulfilment=OuterRef("pk"), closed_at__isnull=True)
    waiting = Fulfilment.objects.filter(~Exists(asked), state=State.PENDING).annotate(since=since)
    late = waiting.filter(since__lte=store.now() - conf().pending_deadline)
    ids = list(late.order_by("since").values_list("pk", flat=True)[: conf().batch])
    for pk in ids:
        with transaction.atomic():
            row = store.lock_unless_taken(pk, state=State.PENDING)
            if row is not None:
                casebook.open_case(row, reason=CaseReason.PENDING_TOO_LONG, actor=SWEEPER)
    return len(ids)


def close_expired(row: Fulfilment) -> Attempt | None:
    """End the attempt whose lease is over and say what its mark proves. Under the row's lock."""
    attempt = store.close_expired(row.pk)
    if attempt is None:
        return None
    sent = attempt.sent_at is not None
    if not sent:
        Fulfilment.objects.filter(pk=row.pk).update(failed_starts=F("failed_starts") + 1)
    write(
        row,
        Statement(
            finding=Finding.UNKNOWN if sent else Finding.NOT_SENT,
            detail="the worker was lost after the mark" if sent else "lost before the mark",
        ),
        source=Source.SWEEP,
        actor=SWEEPER,
        attempt=attempt,
    )
    log.warning(
        "attempt taken back",
        extra={"action": "attempt_swept", "reference": row.reference, "outcome": attempt.outcome},
    )
    return attempt


def _guarded(pk: int) -> bool:
    try:
        _put_last(pk)
        row = resolve.leave_dispatching(pk, close=close_expired, actor=SWEEPER, wait=False)
    except Exception:
        log.exception("sweep of one row failed", extra={"action": "sweep_failed", "id": pk})
        timing.postpone(pk)
        return False
    return row is not None


def _put_last(pk: int) -> None:
    """Committed before the code of its connector runs, which may be the end of this process."""
    with transaction.atomic():
        row = store.lock_unless_taken(pk, state=State.DISPATCHING)
        if row is not None:
            Fulfilment.objects.filter(pk=pk).update(next_check_at=store.now())
