"""Tells a person of events that came again with another body."""

import logging

from django.db import transaction

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.models import CaseAction, CaseReason, EventStatus, Fulfilment, ProviderEventConflict
from fulfilment.reconcile import casebook

log = logging.getLogger(__name__)


def raise_new(event_id: int | None = None) -> int:
    """Open a case for every new conflict about a fulfilment, or add it to the open one.

    Only once the event itself is applied: the evidence that settles a row closes its case, and
    this one must stay. An event that is about nothing here has no case; its alert was logged.
    """
    new = ProviderEventConflict.objects.filter(
        raised_at__isnull=True, event__status=EventStatus.APPLIED
    )
    if event_id is not None:
        new = new.filter(event=event_id)
    ids = list(new.order_by("pk").values_list("pk", flat=True)[: conf().batch])
    return sum(_guarded(pk) for pk in ids)


def _guarded(pk: int) -> bool:
    try:
        return _raise(pk)
    except Exception:
        log.exception("conflict not raised", extra={"action": "conflict_not_raised", "id": pk})
        return False


def _raise(pk: int) -> bool:
    with transaction.atomic():
        conflict = (
            ProviderEventConflict.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("event")
            .filter(pk=pk, raised_at__isnull=True)
            .first()
        )
        if conflict is None or conflict.event.fulfilment_id is None:
            return False
        _tell(conflict, row=store.lock(conflict.event.fulfilment_id))
        ProviderEventConflict.objects.filter(pk=pk).update(raised_at=store.now())
        return True


def _tell(conflict: ProviderEventConflict, *, row: Fulfilment) -> None:
    event = conflict.event
    note = f"event {event.dedupe_key} ({event.type}) came again with another body"
    actor = f"provider:{event.provider}"
    if case := casebook.current(row):
        casebook.write(case, CaseAction.Action.NOTED, actor=actor, note=note)
    else:
        casebook.open_case(row, reason=CaseReason.CONFLICT, actor=actor, note=note)
