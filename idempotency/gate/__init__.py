"""The action gate: what is not a request, and must not happen twice either.

    from idempotency import gate

    with gate.claim("refund.approve", target=refund.pk) as action:
        action.settle(provider.refund(refund.reference))

A slot named after the action is claimed before the block begins: the insert is the lock. `settle`
keeps the slot for ever, with the result. `release` frees it, where nothing happened. `hold` says
that nobody knows, and a person decides. It makes an action happen at most once per identity; it
does not make a lost call arrive.
"""

from idempotency.gate.claims import claim
from idempotency.gate.decorators import gated
from idempotency.gate.errors import (
    AlreadySettled,
    Closed,
    Held,
    InProgress,
    NotClaimed,
)
from idempotency.gate.handle import Action
from idempotency.gate.held import hold_expired, release_held, settle_held
from idempotency.gate.identity import UNGATED
from idempotency.gate.many import MOST_ITEMS, Item, Outcome, Verdict, claim_many

__all__ = [
    "MOST_ITEMS",
    "UNGATED",
    "Action",
    "AlreadySettled",
    "Closed",
    "Held",
    "InProgress",
    "Item",
    "NotClaimed",
    "Outcome",
    "Verdict",
    "claim",
    "claim_many",
    "gated",
    "hold_expired",
    "release_held",
    "settle_held",
]
