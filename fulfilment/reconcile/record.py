"""Keeps what was said. Evidence is committed before anybody acts on it."""

import hashlib
import logging
from datetime import datetime

from django.db import transaction

from fulfilment import store
from fulfilment.connectors import registry
from fulfilment.errors import Gone
from fulfilment.models import Attempt, Evidence, Fulfilment, Payload
from fulfilment.reconcile import recipients, storable, tallies
from fulfilment.reconcile.evidence import Source, Statement

log = logging.getLogger(__name__)


def record(
    fulfilment: Fulfilment,
    statement: Statement,
    *,
    source: Source,
    actor: str,
    attempt: Attempt | None = None,
    canary: bool = False,
    said_at: datetime | None = None,
    asked_at: datetime | None = None,
) -> Evidence:
    """Commit a statement as evidence, in a transaction of its own.

    Whatever happens to the verdict (a handler that raises, a process that dies), what was said is
    on record. Raises `RuntimeError` inside another transaction, which could take it back, and `Gone`
    where the database has come to know another history since the row was read.
    """
    with transaction.atomic(durable=True):
        return write(
            fulfilment,
            statement,
            source=source,
            actor=actor,
            attempt=_known(fulfilment, attempt),
            canary=canary,
            said_at=said_at,
            asked_at=asked_at,
        )


def _known(fulfilment: Fulfilment, attempt: Attempt | None) -> Attempt | None:
    """The attempt, or None where it is not of this history any more.

    A call may outlast a failover that lost its row, and the row's number may be another payment's by
    then: what the provider says must not be taken for an answer about that one.
    """
    if attempt is not None:
        ours = Attempt.objects.filter(pk=attempt.pk, token=attempt.token, fulfilment=fulfilment)
        if ours.exists():
            return attempt
    if not Fulfilment.objects.filter(pk=fulfilment.pk, reference=fulfilment.reference).exists():
        raise Gone
    return None


def write(
    fulfilment: Fulfilment,
    statement: Statement,
    *,
    source: Source,
    actor: str,
    attempt: Attempt | None = None,
    canary: bool = False,
    said_at: datetime | None = None,
    asked_at: datetime | None = None,
) -> Evidence:
    """Add a statement in the caller's transaction: for what is only true if that commits.

    Of the recipient that it names, only whether it is ours and the last digits are kept.
    """
    evidence = Evidence.objects.create(
        fulfilment=fulfilment,
        attempt=attempt,
        source=source.value,
        finding=statement.finding.value,
        conclusive=statement.conclusive,
        canary=canary,
        amount=storable.amount(statement.amount),
        currency=storable.currency(statement.currency),
        recipient=storable.text(recipients.masked(statement.recipient), most=64),
        other_recipient=_is_another(statement.recipient, fulfilment),
        provider_status=storable.text(statement.provider_status, most=64),
        provider_id=storable.text(statement.provider_id, most=128),
        said_at=said_at,
        asked_at=asked_at,
        recorded_at=store.now(),
        actor=actor,
        detail=storable.text(statement.detail, most=500),
        digest=hashlib.sha256(statement.body).hexdigest() if statement.body else "",
    )
    if statement.body:
        Payload.objects.create(evidence=evidence, body=statement.body)
    tallies.found(evidence)
    return evidence


def _is_another(theirs: str, fulfilment: Fulfilment) -> bool:
    """A connector that cannot say whom we named compares nothing, and that is said."""
    if not theirs:
        return False
    try:
        ours = registry.connector(fulfilment.connector).recipient(fulfilment.instruction)
    except Exception:
        log.exception("recipient not compared", extra={"action": "recipient_not_compared"})
        return False
    return recipients.differ(ours, theirs)
