"""What nobody knows: held by the sweep when a lease is over, settled or released by a person."""

import logging
from datetime import datetime
from typing import Any

from django.db import transaction

from idempotency import conf
from idempotency.gate import claims, errors, results, slots

log = logging.getLogger("idempotency")


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


def settle_held(pk: int, *, held_at: datetime, actor: str, reason: str, result: Any = None) -> None:
    """A person found out that a held action happened: it never runs again.

    `result` is what later callers get. `held_at` is the hold as the person saw it. Raises
    HoldChanged if it is not held so any more, ValueError without a reason or for a result that
    cannot be kept. The trail says who and why.
    """
    text = results.encoded(result, action="settle_held")
    if text is None:
        raise ValueError("This result is no JSON, or too large to be kept.")
    with transaction.atomic(using=slots.alias()):
        slot = slots.settle_held(pk, held_at=held_at, result=text)
        _note(slot, actor=actor, action="settled", reason=reason)


def release_held(pk: int, *, held_at: datetime, actor: str, reason: str) -> None:
    """A person found out that a held action did not happen: the next caller may do it.

    Raises as `settle_held`.
    """
    with transaction.atomic(using=slots.alias()):
        slot = slots.release_held(pk, held_at=held_at)
        _note(slot, actor=actor, action="released", reason=reason)


def _note(slot: str | None, *, actor: str, action: str, reason: str) -> None:
    if not reason.strip():
        raise ValueError("Say why: somebody will ask how this was found out.")
    if slot is None:
        raise errors.HoldChanged(errors.HoldChanged.__doc__)
    from idempotency import trail  # its table needs ready apps, and `gated` is imported before that

    trail.note(actor=actor, action=action, subject=trail.action_subject(slot), reason=reason)
    extra = {"action": f"gate_{action}_by_hand", "slot": slot, "actor": actor}
    log.info("held action decided", extra=extra)
