"""What a person decides about a held key: its answer, that nothing happened, or to ask once more.

Each checks the permission, and a decision wants a reason. It holds only for the hold that the person
was looking at (`held_at`); it and its entry in the audit trail commit together.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from idempotency import contract, leases, operations, people, store, takeover, trail, transactions
from idempotency.claims import Claim
from idempotency.contract import Answer, Decision, Exit
from idempotency.endings import Settled
from idempotency.errors import HoldOver, NobodyToAsk
from idempotency.leased_claims import owned

SETTLE = "idempotency.settle_held"
RELEASE = "idempotency.release_held"
ASK = "idempotency.ask_held"


@dataclass(frozen=True, slots=True)
class Seen:
    """The held key as the person saw it."""

    scope: UUID
    key: str
    held_at: datetime
    next_check_at: datetime | None = None

    @property
    def subject(self) -> str:
        """How the trail names it."""
        return trail.key_subject(self.scope, self.key)


def settle(seen: Seen, *, user: Any, answer: Answer, reason: str) -> None:
    """Store the answer that the client is to get from now on. It cannot be taken back.

    Raises NotPermitted, ReasonMissing, HoldOver, and ValueError for a status that is not final.
    """
    actor, reason = people.allowed(user, SETTLE), people.given(reason)
    if contract.exit_of(answer.status, raised=False) is not Exit.SETTLE:
        raise ValueError(f"{answer.status} is not final: a retry would have to run again")
    with transaction.atomic(using=store.alias(None)):
        if store.settle_held(seen.scope, seen.key, answer, held_at=seen.held_at) is None:
            raise HoldOver(HoldOver.__doc__)
        _note(seen, actor, "settled", reason, status=str(answer.status))


def release(seen: Seen, *, user: Any, reason: str) -> None:
    """Say that nothing happened: the same request may run again, another one still may not.

    Raises NotPermitted, ReasonMissing and HoldOver.
    """
    actor, reason = people.allowed(user, RELEASE), people.given(reason)
    with transaction.atomic(using=store.alias(None)):
        if not leases.free(seen.scope, seen.key, held_at=seen.held_at):
            raise HoldOver(HoldOver.__doc__)
        _note(seen, actor, "released", reason)


def ask(seen: Seen, *, user: Any) -> Settled | Decision | None:
    """Ask the view's `recover` now, as the sweep does when the next check is due.

    Returns what came of it: an answer that is stored now, None if nothing happened and the same
    request may run again, Held if it is still unknown. Call it outside any transaction. Raises
    NotPermitted, HoldOver (also if somebody asked since) and NobodyToAsk.
    """
    actor = people.allowed(user, ASK)
    transactions.refuse_outer(store.alias(None))
    row = store.read(seen.scope, seen.key)
    if row is None or row.record.held_at != seen.held_at:
        raise HoldOver(HoldOver.__doc__)
    terms = operations.registered().get(row.record.operation)
    if terms is None:
        raise NobodyToAsk(NobodyToAsk.__doc__)
    token, record = _taken(seen, actor, lease=terms.lease)
    claim = Claim(record.scope, record.key, record.operation, record.fingerprint)
    mine = owned(claim, token=token, terms=terms)
    return takeover.conclude(mine, record, lease=timedelta(0))


def _taken(seen: Seen, actor: str, *, lease: timedelta) -> tuple[UUID, contract.Record]:
    """Own the key for as long as the question takes; that it was asked is on record first."""
    with transaction.atomic(using=store.alias(None)):
        taken = leases.take_held(
            seen.scope,
            seen.key,
            held_at=seen.held_at,
            next_check_at=seen.next_check_at,
            lease=lease,
        )
        if taken is None:
            raise HoldOver(HoldOver.__doc__)
        _note(seen, actor, "asked")
    return taken[0], taken[1].record


def _note(seen: Seen, actor: str, action: str, reason: str = "", **details: str) -> None:
    trail.note(actor=actor, action=action, subject=seen.subject, reason=reason, details=details)
