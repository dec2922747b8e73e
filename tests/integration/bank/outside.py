"""The other bank, as far as our side sees it: what it says about a transfer, recorded and judged."""

from typing import Any
from uuid import uuid4

from django.db import transaction

from fulfilment import store, transitions
from fulfilment.models import Attempt, Fulfilment
from fulfilment.reconcile import resolve
from fulfilment.reconcile.evidence import HAPPENED, Finding, Source, Statement
from fulfilment.reconcile.record import record
from fulfilment.states import State
from ledgerline.bank.models import Transfer
from tests.integration.bank.phone import B0

EXTERNAL = B0 | {"toBank": "058", "toAccount": "2233445566"}


def row_of(location: str, *, generation: int = 1) -> Fulfilment:
    """The fulfilment behind the transfer at this address."""
    reference = Transfer.objects.get(pk=location.rsplit("/", 1)[1]).reference
    return Fulfilment.objects.get(payment_id=f"transfer:{reference}", generation=generation)


@transaction.atomic
def sent(row: Fulfilment) -> Fulfilment:
    """A worker sent it long ago, and the answer was lost."""
    at = store.now()
    lost = Attempt.objects.create(
        fulfilment=row,
        number=1,
        token=uuid4(),
        claimed_at=at.replace(year=at.year - 1),
        lease_until=at.replace(year=at.year - 1, microsecond=999_999),
    )
    dispatching = transitions.move(
        row, to=State.DISPATCHING, actor="worker:gone", reason="attempt 1", next_check_at=at
    )
    Attempt.objects.filter(pk=lost.pk).update(sent_at=lost.claimed_at)
    Attempt.objects.filter(pk=lost.pk).update(closed_at=at, outcome="lost")
    unknown = transitions.move(
        dispatching, to=State.NEEDS_RECONCILIATION, actor="sweeper", reason="lost", next_check_at=at
    )
    assert unknown is not None
    return unknown


def says(row: Fulfilment, finding: Finding, **said: Any) -> Fulfilment:
    """The provider says it by an event; returns the row as it is then."""
    happened = finding in HAPPENED
    known = {"amount": row.amount, "currency": row.currency} if happened else {}
    statement = Statement(finding=finding, **(known | said))
    evidence = record(row, statement, source=Source.WEBHOOK, actor="provider:sandbox")
    return resolve.resolve(row.pk, news=[evidence.pk])
