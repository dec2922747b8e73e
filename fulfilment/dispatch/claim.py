"""Takes a due row for one worker: a new attempt, with its own token and a lease."""

import time
from dataclasses import dataclass
from uuid import uuid4

from django.db import transaction

from fulfilment import store, transitions
from fulfilment.conf import conf
from fulfilment.connectors.missing import PESSIMISTIC
from fulfilment.models import Attempt, Fulfilment
from fulfilment.reconcile import budget, timing
from fulfilment.reconcile.reading import rules_under, situation_of
from fulfilment.reconcile.situation import Situation
from fulfilment.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """One row in one worker's hands, until the lease is over or the token is dead."""

    fulfilment: Fulfilment
    attempt: Attempt
    before: Situation  # without this attempt, and before its provider's promises are read
    begun: float  # monotonic, before the lease began: by this clock the lease ends no later


def claim(fulfilment_id: int, *, worker: str) -> Claimed | None:
    """Claim the row, committed; None where it is not due or another worker has it.

    Whoever asks more than once, or for a row that is long settled, gets None: a message is only
    a hint. Where it has no connector any more, or the breaker is open, the row waits: nothing is
    begun, and that is no attempt.

    No code of a connector runs in here. One that takes its process with it would leave no trace of
    that, and the row would be the first again, for ever: a claim is committed, so it is counted.
    """
    begun = time.monotonic()
    with transaction.atomic():
        row = store.lock_unless_taken(
            fulfilment_id, state=State.PENDING, next_check_at__lte=store.now()
        )
        if row is None:
            return None
        if row.connector not in conf().connectors:
            timing.postpone(row.pk)
            return None
        before = situation_of(row, rules=rules_under(PESSIMISTIC))
        if not budget.may_call(row.connector):
            timing.leave_until(row.pk, until=budget.open_until(row.connector) or store.now())
            return None
        attempt = _open_attempt(row, worker=worker)
        moved = transitions.move(
            row,
            to=State.DISPATCHING,
            actor=worker,
            reason=f"attempt {attempt.number}",
            next_check_at=attempt.lease_until,
            attempt=attempt,
        )
    if moved is None:
        return None
    return Claimed(fulfilment=moved, attempt=attempt, before=before, begun=begun)


def _open_attempt(row: Fulfilment, *, worker: str) -> Attempt:
    last = row.attempts.order_by("-number").first()
    at = store.now()
    return Attempt.objects.create(
        fulfilment=row,
        number=last.number + 1 if last else 1,
        token=uuid4(),
        worker=worker[:128],
        claimed_at=at,
        lease_until=at + conf().lease,
    )
