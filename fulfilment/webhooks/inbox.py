"""Takes an event: verify, insert, commit, and only then remember and answer.

Applying it is a second fact (`applying`): whatever happens afterwards, the event is on record.
"""

import hashlib
import logging
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError, transaction

from fulfilment import starts, store
from fulfilment.checkpoints import checkpoint
from fulfilment.conf import conf
from fulfilment.models import ProviderEvent
from fulfilment.webhooks import entries, routes, seen
from fulfilment.webhooks.errors import ProviderUnknown
from fulfilment.webhooks.event import Event

log = logging.getLogger(__name__)


class Receipt(StrEnum):
    """What became of a delivery. All of them are answered 200: the event is on record."""

    STORED = "stored"
    REPEATED = "repeated"
    CONFLICT = "conflict"  # its name is on record with another content; stored beside it


def accept(provider: str, *, headers: Mapping[str, str], raw_body: bytes, now: datetime) -> Receipt:
    """Put one delivery on record, committed. `now` is the clock that the signature is held to.

    Raises `IntakeRefused` (nothing is stored) and Django's database errors (the sender tries
    again): when it returns, a committed row exists, whatever the cache knew.
    """
    entry = entries.entry(provider)
    if entry.webhooks is None:
        raise ProviderUnknown
    entry.webhooks.verify(headers, raw_body, secrets=entry.secrets, now=now, skew=conf().skew)
    checkpoint("webhook.verified")
    return keep(entry, raw_body)


def keep(entry: entries.Entry, raw_body: bytes) -> Receipt:
    """Put an event on record, committed, whose body is known to be the provider's. Raises as
    `accept`.
    """
    event = entry.read(raw_body)
    digest = hashlib.sha256(event.content).hexdigest()
    place = seen.place_of(event, digest=digest)
    if place is not None and place.proves():
        return Receipt.REPEATED
    with transaction.atomic(durable=True):
        receipt = _keep(event, entry, digest=digest, raw_body=raw_body)
        checkpoint("webhook.inserted")
        if transaction.get_rollback():  # a connection died under a starter: leaving says nothing
            raise OperationalError("the event's transaction cannot be committed")
    checkpoint("webhook.committed")
    if place is not None and receipt is not Receipt.CONFLICT:
        place.set()
    checkpoint("webhook.remembered")
    return receipt


def _keep(event: Event, entry: entries.Entry, *, digest: str, raw_body: bytes) -> Receipt:
    used = event.finding is not None or routes.is_routed(event)
    pk = store.insert_event(
        **_name(event),
        type=event.type,
        digest=digest,
        reference=event.reference or "",
        waits=used,
        body=raw_body,
    )
    if pk is None:
        return _keep_again(event, digest=digest, raw_body=raw_body)
    if entry.authenticates_body and routes.is_routed(event) and not entry.objection(event):
        _start_at_once(pk, event)
    if used:
        transaction.on_commit(partial(starts.tell, conf().event_hint, pk), robust=True)
    log.info("event stored", extra=_extra("event_stored", event) | {"used": used})
    return Receipt.STORED


def _keep_again(event: Event, *, digest: str, raw_body: bytes) -> Receipt:
    """A later statement than the insert: it sees the row that made ours do nothing."""
    kept = ProviderEvent.objects.get(**_name(event))
    if kept.digest == digest:
        return Receipt.REPEATED
    if store.insert_conflict(kept.pk, digest=digest, body=raw_body):
        log.error("an event came again with another body", extra=_extra("event_conflict", event))
        transaction.on_commit(partial(starts.tell, conf().event_hint, kept.pk), robust=True)
    return Receipt.CONFLICT


def _start_at_once(pk: int, event: Event) -> None:
    """Insert the fulfilment in the event's own transaction.

    A starter that raises must not keep the event out: applying it asks the starter again. An
    outage is no opinion of the starter's; it goes up, and the sender tries again.
    """
    try:
        with transaction.atomic():
            row = routes.started(event)
            ProviderEvent.objects.filter(pk=pk).update(fulfilment=row)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.warning("start put off", extra=_extra("start_put_off", event), exc_info=True)


def _name(event: Event) -> dict[str, Any]:
    """What makes an event the same event, however often it comes."""
    return {
        "provider": event.provider,
        "account": event.account,
        "livemode": event.livemode,
        "dedupe_key": event.dedupe_key,
    }


def _extra(action: str, event: Event) -> dict[str, object]:
    return {"action": action, "provider": event.provider, "type": event.type}
