"""What nobody knows: held by the sweep when a lease is over, settled or released by a person."""

import logging
from datetime import datetime
from typing import Any

from django.db import transaction

from idempotency import conf, people
from idempotency.errors import HoldOver
from idempotency.gate import claims, results, slots

log = logging.getLogger("idempotency")

SETTLE = "idempotency.settle_held_action"
RELEASE = "idempotency.release_held_action"


def hold_expired() -> int:
    """Hold every claim whose lease is over; returns how many. Nothing is ever run again by this.

    Safe at any time and any number of times at once.
    """
    total = 0
    while True:
        held = slots.hold_expired(batch=conf.current().batch, reason=claims.EXPIRED)
        for slot, action in held:
            extra = {"action": "gate_expired", "operation": action, "slot": slot}
            log.error("nobody said what became of an action", extra=extra)
        total += len(held)
        if len(held) < conf.current().batch:
            return total


def settle_held(pk: int, *, held_at: datetime, user: Any, reason: str, result: Any = None) -> None:
    """A person found out that a held action happened: it never runs again.

    `result` is what later callers get. `held_at` is the hold as the person saw it. The trail says
    who and why. Raises NotPermitted, ReasonMissing, HoldOver if it is not held so any more, and
    ValueError for a result that cannot be kept.
    """
    actor, reason = people.allowed(user, SETTLE), people.given(reason)
    text = results.encoded(result, action="settle_held")
    if text is None:
        raise ValueError("This result is no JSON, or too large to be kept.")
    with transaction.atomic(using=slots.alias()):
        slot = slots.settle_held(pk, held_at=held_at, result=text)
        _note(slot, actor=actor, action="settled", reason=reason)


def release_held(pk: int, *, held_at: datetime, user: Any, reason: str) -> None:
    """A person found out that a held action did not happen: the next caller may do it.

    Raises NotPermitted, ReasonMissing and HoldOver.
    """
    actor, reason = people.allowed(user, RELEASE), people.given(reason)
    with transaction.atomic(using=slots.alias()):
        slot = slots.release_held(pk, held_at=held_at)
        _note(slot, actor=actor, action="released", reason=reason)


def _note(slot: str | None, *, actor: str, action: str, reason: str) -> None:
    from idempotency import trail  # its table needs ready apps, and `gated` is imported before that

    if slot is None:
        raise HoldOver(HoldOver.__doc__)
    trail.note(actor=actor, action=action, subject=trail.action_subject(slot), reason=reason)
    extra = {"action": f"gate_{action}_by_hand", "slot": slot, "actor": actor}
    log.info("held action decided", extra=extra)
