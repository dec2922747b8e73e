"""A payment's next reference, once it is a fact that nothing came of the one before.

A new generation is opened in the transaction of that failure and instead of telling the project of
it, so key, hold and resource stay open. Once a client was told, never: the database refuses it.
"""

import logging
from functools import partial

from django.db import transaction

from fulfilment import starts, store
from fulfilment.conf import conf
from fulfilment.handlers import handlers_of
from fulfilment.models import Evidence, Finding, Fulfilment
from fulfilment.reconcile.evidence import HAPPENED
from fulfilment.states import reference_of

log = logging.getLogger(__name__)


def wanted(row: Fulfilment, evidence: Evidence) -> bool:
    """Does the kind's own rule (`Handlers.again`) want the payment sent again after this failure?

    Never asked for more references than `GENERATIONS`; a person may go on.
    """
    rule = handlers_of(row.kind).again
    return rule is not None and row.generation < conf().generations and rule(row, evidence)


def open_next(row: Fulfilment, *, actor: str) -> Fulfilment:
    """The payment's next generation, due now. In the transaction in which `row` failed."""
    at, number = store.now(), row.generation + 1
    opened = Fulfilment.objects.create(
        kind=row.kind,
        event_id=row.event_id,
        payment_id=row.payment_id,
        generation=number,
        reference=reference_of(row.payment_id, connector=row.connector, generation=number),
        connector=row.connector,
        amount=row.amount,
        currency=row.currency,
        instruction=row.instruction,
        next_check_at=at,
        started_by=actor,
        created_at=at,
        state_changed_at=at,
    )
    transaction.on_commit(partial(starts.hint, opened.pk), robust=True)
    log.warning(
        "sent again under a new reference",
        extra={
            "action": "generation_opened",
            "reference": opened.reference,
            "before": row.reference,
            "generation": number,
        },
    )
    return opened


def newest_after(row: Fulfilment) -> Fulfilment | None:
    """The payment's newest generation, if `row` is an earlier one."""
    later = Fulfilment.objects.filter(payment_id=row.payment_id, generation__gt=row.generation)
    return later.order_by("-generation").first()


def paid_before(row: Fulfilment) -> str:
    """The earlier reference of this payment of which it was said that it is done; empty: of none.

    Until a person has judged that (and left the failure as it is), nothing more may be sent.
    """
    if row.generation == 1:
        return ""
    earlier = Fulfilment.objects.filter(
        payment_id=row.payment_id, generation__lt=row.generation
    ).order_by("generation")
    return next((e.reference for e in earlier if _said_done(e)), "")


def _said_done(row: Fulfilment) -> bool:
    """Is the last that was said of it, and that nobody has judged yet, that it happened?"""
    said = row.evidence.filter(conclusive=True, finding__in=HAPPENED)
    judged = row.cases.filter(closed_at__isnull=False).order_by("-closed_at").first()
    if judged is not None:
        said = said.filter(recorded_at__gt=judged.closed_at)
    last = said.order_by("-id").first()
    return last is not None and last.finding == Finding.DONE
