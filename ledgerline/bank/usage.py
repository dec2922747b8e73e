"""Usage events: a batch is recorded once, however often it is sent, and says so of each event."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idempotency import gate
from ledgerline.bank import accounts, errors
from ledgerline.bank.answers import written_at
from ledgerline.bank.models import Account, UsageEvent

MOST = gate.MOST_ITEMS  # events of one batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One use, as the customer states it. `account` is a number of theirs."""

    id: str
    type: str
    quantity: int
    occurred_at: datetime
    account: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


def record(events: Sequence[Event], *, owner: UUID) -> list[gate.Outcome]:
    """Record what is new, in the caller's transaction; one outcome per event, in their order.

    An id that the owner has used before is deduplicated if everything else is the same, and else a
    conflict, which changes nothing either. Raises `UnknownAccounts` before anything is written.
    """
    own = _accounts(events, owner=owner)
    items = [gate.Item(event.id, _values(event, own)) for event in events]
    outcomes = gate.claim_many("usage.record", items, namespace=str(owner))
    fresh = [
        _row(event, owner=owner, own=own)
        for event, outcome in zip(events, outcomes, strict=True)
        if outcome.verdict is gate.Verdict.RECORDED
    ]
    UsageEvent.objects.bulk_create(fresh)  # one statement, whatever their number
    return outcomes


def _accounts(events: Sequence[Event], *, owner: UUID) -> dict[str, Account]:
    wanted = {event.account for event in events if event.account is not None}
    own = accounts.owned(owner, numbers=wanted) if wanted else {}
    strange = [place for place, event in enumerate(events) if event.account not in {None, *own}]
    if strange:
        raise errors.UnknownAccounts(strange)
    return own


def _values(event: Event, own: dict[str, Account]) -> dict[str, Any]:
    """What a second sending has to repeat, by the names of the API; no full account number in it."""
    return {
        "type": event.type,
        "quantity": event.quantity,
        "occurredAt": written_at(event.occurred_at),
        "account": None if event.account is None else own[event.account].pk,
        "metadata": event.metadata,
    }


def _row(event: Event, *, owner: UUID, own: dict[str, Account]) -> UsageEvent:
    return UsageEvent(
        user_id=owner,
        event_id=event.id,
        type=event.type,
        quantity=event.quantity,
        occurred_at=event.occurred_at,
        account=None if event.account is None else own[event.account],
        metadata=event.metadata,
    )
