"""Applies the events that are on record: evidence for a fulfilment, a start, a reason to ask.

Received and applied are two facts, and only the transaction that applies sets `applied_at`. A
worker that dies in between, an error, a thing that is not known yet: the event is tried again.
"""

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import F

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.models import (
    WAITING,
    EventStatus,
    Fulfilment,
    ProviderEvent,
    ProviderEventAction,
    ProviderEventPayload,
)
from fulfilment.reconcile import resolve, schedule
from fulfilment.reconcile.evidence import Source
from fulfilment.reconcile.record import write
from fulfilment.webhooks import asking, conflicts, entries, routes
from fulfilment.webhooks.errors import EventBodyGone, EventRefused
from fulfilment.webhooks.event import Event

log = logging.getLogger(__name__)


def apply_due() -> int:
    """Apply what no worker heard of or what has waited. Returns how many events were looked at.

    One by one, so one that fails does not keep the others.
    """
    waiting = ProviderEvent.objects.filter(status__in=WAITING, next_check_at__lte=store.now())
    ids = list(waiting.order_by("next_check_at").values_list("pk", flat=True)[: conf().batch])
    for pk in ids:
        apply(pk)
    return len(ids) + conflicts.raise_new()


def apply(event_id: int) -> None:
    """Apply one event, if it waits and is due. Never raises for what the event says or meets."""
    event = _take(event_id)
    if event is not None:
        try:
            _apply(event)
        except (EventRefused, EventBodyGone) as error:
            _give_up(event, reason=str(error))
        except Exception:
            log.exception("event not applied", extra=_extra("event_not_applied", event))
            _wait(event, reason="applying it raised an error")
    conflicts.raise_new(event_id)


def _take(event_id: int) -> ProviderEvent | None:
    """The event for this worker; for the others it is due again later, as if this one died."""
    waiting = ProviderEvent.objects.filter(pk=event_id, status__in=WAITING)
    event = waiting.select_related("payload").first()
    if event is None:
        return None
    at = store.now()
    again = at + schedule.distance(conf().park_schedule, position=event.checks)
    due = waiting.filter(checks=event.checks, next_check_at__lte=at)
    taken = due.update(checks=F("checks") + 1, next_check_at=again)
    return event if taken else None


def _apply(event: ProviderEvent) -> None:
    entry = entries.entry(event.provider)
    said = entry.read(_body(event))
    if objection := entry.objection(said):
        raise EventRefused(objection)
    if routes.is_routed(said):
        _start(event, said, authentic=entry.authenticates_body)
        return
    row = _subject(event, said, entry)
    if row is None:
        _wait(event, reason="nothing with this reference is known here")
    elif entry.authenticates_body:
        _record(event, said, row, source=Source.STATEMENT if entry.mailbox else Source.WEBHOOK)
        _judge(event)
    else:
        _ask(event, row)


def _body(event: ProviderEvent) -> bytes:
    try:
        return bytes(event.payload.body)
    except ProviderEventPayload.DoesNotExist:
        raise EventBodyGone from None


def _start(event: ProviderEvent, said: Event, *, authentic: bool) -> None:
    """What it pays for was inserted with the event; unless that was not possible yet."""
    if not authentic:
        raise EventRefused("Its body is not authenticated, so it can start nothing.")
    with transaction.atomic():
        kept = store.lock_event(event.pk)
        if kept.status not in WAITING:
            return
        row = kept.fulfilment or routes.started(said)
        if row is not None:
            _applied(kept, row=row)
    if row is None:
        _wait(event, reason="what it pays for is not known here")


def _subject(event: ProviderEvent, said: Event, entry: entries.Entry) -> Fulfilment | None:
    """What the event is about; an account may speak about its own connectors' rows only."""
    if said.finding is None:
        raise EventRefused("It neither says nor starts anything.")
    if not said.reference:
        raise EventRefused("It names no reference.")
    if event.fulfilment is not None:
        return event.fulfilment
    row = Fulfilment.objects.filter(reference=said.reference).first()
    if row is not None and row.connector not in entry.speaks_for(said.account):
        raise EventRefused("It is about a payment that its account may not speak about.")
    return row


def _record(event: ProviderEvent, said: Event, row: Fulfilment, *, source: Source) -> None:
    """Commit what it says before anybody acts on it, once: a second worker finds it there."""
    with transaction.atomic(durable=True):
        kept = store.lock_event(event.pk)
        if kept.evidence_id is None and kept.status in WAITING:
            evidence = write(
                row,
                said.statement(body=_body(event)),
                source=source,
                actor=f"provider:{event.provider}",
                said_at=said.said_at,
            )
            ProviderEvent.objects.filter(pk=kept.pk).update(fulfilment=row, evidence=evidence)


def _judge(event: ProviderEvent) -> None:
    """The verdict and `applied_at` commit together: who died in between left neither."""
    with transaction.atomic():
        kept = store.lock_event(event.pk)
        if kept.status in WAITING and kept.fulfilment and kept.evidence_id:
            resolve.resolve(kept.fulfilment.pk, news=[kept.evidence_id])
            _applied(kept, row=kept.fulfilment)


def _applied(kept: ProviderEvent, *, row: Fulfilment) -> None:
    """Under the event's lock, in the transaction that did what the event wants."""
    ProviderEvent.objects.filter(pk=kept.pk, status__in=WAITING).update(
        status=EventStatus.APPLIED,
        applied_at=store.now(),
        next_check_at=None,
        reason="",
        fulfilment=row,
    )


def _ask(event: ProviderEvent, row: Fulfilment) -> None:
    """Anybody can have written this body: what counts is what the provider says when asked."""
    try:
        asked = asking.ask(event, row)
    except asking.NotNow as why:
        _wait(event, reason=str(why))
        return
    if not asked:
        raise EventRefused("Its body is not authenticated, and this provider cannot be asked.")


def _wait(event: ProviderEvent, *, reason: str) -> None:
    """Park it; when it was due next was set as it was taken. Given up after `dead_after`."""
    if gives_up_at(event) <= store.now():
        _give_up(event, reason=reason)
        return
    waiting = ProviderEvent.objects.filter(pk=event.pk, status__in=WAITING)
    waiting.update(status=EventStatus.PARKED, reason=reason)
    log.info("event parked", extra=_extra("event_parked", event))


def _give_up(event: ProviderEvent, *, reason: str) -> None:
    """It stays on record; somebody has to find out what the provider means."""
    waiting = ProviderEvent.objects.filter(pk=event.pk, status__in=WAITING)
    if waiting.update(status=EventStatus.DEAD, reason=reason[:255], next_check_at=None):
        log.error("event given up", extra=_extra("event_dead", event) | {"reason": reason})


def gives_up_at(event: ProviderEvent) -> datetime:
    """When an event that fits nothing is given up: so long after it came, or was last applied again."""
    again = event.actions.filter(action=ProviderEventAction.Action.REPLAYED).order_by("-id").first()
    return (again.acted_at if again else event.received_at) + conf().dead_after


def _extra(action: str, event: ProviderEvent) -> dict[str, object]:
    return {"action": action, "event": event.pk, "provider": event.provider, "type": event.type}
