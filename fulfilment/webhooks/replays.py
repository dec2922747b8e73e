"""What a person does to an event: has it applied again, or sets it aside. On record, each time.

A replay is no other way of applying: the event waits again, and the same `apply` meets it. So
however often and by however many it is asked for, an event has its effect once.
"""

import logging
from functools import partial
from typing import Any

from django.db import transaction

from fulfilment import starts, store
from fulfilment.conf import conf
from fulfilment.errors import Stale
from fulfilment.models import (
    WAITING,
    EventStatus,
    ProviderEvent,
    ProviderEventAction,
    ProviderEventPayload,
)
from fulfilment.reconcile import people
from fulfilment.webhooks import applying
from fulfilment.webhooks.errors import EventBodyGone, EventIsApplied, EventIsSetAside

log = logging.getLogger(__name__)

Action = ProviderEventAction.Action
COMMAND = "command:replay_events"


def replay(event_id: int, *, actor: Any, seen: int | None = None) -> ProviderEvent:
    """Apply an event again, now, for a person. Returns it as it is then.

    `seen` is the number of steps on record (`steps_on`) that the person was looking at. Raises
    `NotAllowed` without the permission `fulfilment.replay_event`, `Stale` where somebody did
    something to it since, `EventIsApplied` and `EventBodyGone` where there is nothing to apply.
    """
    return _replay(event_id, by=people.require(actor, people.REPLAY), seen=seen)


def replay_by_command(event_id: int, *, note: str = "") -> ProviderEvent:
    """The same for whoever runs commands on the server: they need no permission of the admin's."""
    return _replay(event_id, by=COMMAND, note=note)


def put_back(event_id: int, *, actor: Any) -> None:
    """Let it wait again, due now, for a worker to apply: where many are replayed. As `replay`."""
    name = people.require(actor, people.REPLAY)
    with transaction.atomic():
        _put_back(event_id, by=name)
        transaction.on_commit(partial(starts.tell, conf().event_hint, event_id), robust=True)


def set_aside(event_id: int, *, actor: Any, note: str, seen: int | None = None) -> ProviderEvent:
    """Say that nothing has to be done about an event, and why. A replay takes it back.

    Raises as `replay`; `EventIsSetAside` where it is already.
    """
    name = people.require(actor, people.REPLAY)
    with transaction.atomic():
        event = _lock(event_id, seen=seen)
        if event.status == EventStatus.SET_ASIDE:
            raise EventIsSetAside
        _note(event, Action.SET_ASIDE, by=name, note=note)
        _move(event, status=EventStatus.SET_ASIDE, next_check_at=None)
    return ProviderEvent.objects.get(pk=event_id)


def steps_on(event: ProviderEvent) -> int:
    """How many steps by hand are on record: names what a person was looking at."""
    return event.actions.count()


def _replay(event_id: int, *, by: str, note: str = "", seen: int | None = None) -> ProviderEvent:
    with transaction.atomic():
        _put_back(event_id, by=by, note=note, seen=seen)
    applying.apply(event_id)
    return ProviderEvent.objects.get(pk=event_id)


def _put_back(event_id: int, *, by: str, note: str = "", seen: int | None = None) -> None:
    event = _lock(event_id, seen=seen)
    # Locked as well: retention may be about to delete it.
    if not ProviderEventPayload.objects.select_for_update().filter(event=event).exists():
        raise EventBodyGone
    _note(event, Action.REPLAYED, by=by, note=note)
    status = event.status if event.status in WAITING else EventStatus.RECEIVED
    _move(event, status=status, checks=0, next_check_at=store.now())


def _lock(event_id: int, *, seen: int | None) -> ProviderEvent:
    """The event, locked, as long as it is as the person saw it and there is anything to do."""
    event = store.lock_event(event_id)
    last = event.actions.order_by("-id").first()
    if last is not None and seen is not None and steps_on(event) != seen:
        raise Stale(state=event.status, version=seen, who=last.actor, at=last.acted_at)
    if event.status == EventStatus.APPLIED:
        raise EventIsApplied
    return event


def _note(event: ProviderEvent, action: Action, *, by: str, note: str) -> None:
    ProviderEventAction.objects.create(
        event=event, action=action, actor=by, before=event.status, note=note, acted_at=store.now()
    )
    extra = {"action": f"event_{action}", "event": event.pk, "provider": event.provider}
    log.info("step on an event by hand", extra=extra | {"actor": by})


def _move(event: ProviderEvent, **to: Any) -> None:
    """Under the event's lock."""
    ProviderEvent.objects.filter(pk=event.pk).update(**to)
