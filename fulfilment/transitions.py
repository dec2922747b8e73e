"""The one function that moves a fulfilment. Nothing else writes `state`."""

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q

from fulfilment import signals, store
from fulfilment.errors import Stale
from fulfilment.models import Attempt, Evidence, Fulfilment, Transition
from fulfilment.states import State

log = logging.getLogger(__name__)


def move(
    fulfilment: Fulfilment,
    *,
    to: State,
    actor: str,
    reason: str,
    next_check_at: datetime | None = None,
    recheck_at: datetime | None = None,
    attempt: Attempt | None = None,
    evidence: Evidence | None = None,
    only_if: Q | None = None,
    passing: bool = False,
    **counters: int,
) -> Fulfilment | None:
    """Move the row from the state and version in which `fulfilment` was read.

    Returns the row as it is now, or None where another worker got there first: an ordinary
    branch, after which what the caller learnt is evidence to keep. `next_check_at` is due exactly
    for open states, `recheck_at` is for decided ones. `passing` says that a verdict follows in the
    same transaction, so nobody but the journal is told of this one. `counters` are the row's own
    (`checks`, `refusals`, `failed_starts`); `only_if` joins the compare-and-set, so that what it asks
    cannot change in between.
    A move that the machine does not have raises `IntegrityError` (the trigger).
    """
    if to.is_open == (next_check_at is None):
        raise ValueError("an open state, and only an open state, has its next check")
    with transaction.atomic():  # the row without its journal row would be refused at commit
        at = store.now()
        read = Fulfilment.objects.filter(
            pk=fulfilment.pk, state=fulfilment.state, version=fulfilment.version
        )
        moved = read.filter(only_if or Q()).update(
            state=to,
            version=F("version") + 1,
            reason=reason[:255],
            next_check_at=next_check_at,
            recheck_at=recheck_at,
            state_changed_at=at,
            decided_at=None if to.is_open else at,
            **counters,
        )
        if not moved:
            _tell_overtaken(fulfilment, to=to)
            return None
        Transition.objects.create(
            fulfilment=fulfilment,
            version=fulfilment.version + 1,
            before=fulfilment.state,
            after=to,
            actor=actor,
            reason=reason[:255],
            attempt=attempt,
            evidence=evidence,
            moved_at=at,
        )
    _tell(fulfilment, to=to, actor=actor)
    if not passing:
        _signal(fulfilment, to=to, actor=actor, reason=reason)
    return Fulfilment.objects.get(pk=fulfilment.pk)


def stale(fulfilment_id: int) -> Stale:
    """The error for a person who lost: what it is now, who moved it and when."""
    row = Fulfilment.objects.get(pk=fulfilment_id)
    last = row.transitions.order_by("-version").first()
    return Stale(
        state=row.state,
        version=row.version,
        who=last.actor if last else "",
        at=last.moved_at if last else None,
    )


def _signal(fulfilment: Fulfilment, *, to: State, actor: str, reason: str) -> None:
    signals.after_commit(
        signals.fulfilment_moved,
        sender=fulfilment.kind,
        reference=fulfilment.reference,
        payment_id=fulfilment.payment_id,
        generation=fulfilment.generation,
        version=fulfilment.version + 1,
        before=str(fulfilment.state),
        after=to.value,
        actor=actor,
        reason=reason,
    )


def _tell_overtaken(fulfilment: Fulfilment, *, to: State) -> None:
    log.info(
        "nothing was moved: another worker got there first",
        extra={"action": "move_overtaken", "reference": fulfilment.reference, "to": to.value},
    )


def _tell(fulfilment: Fulfilment, *, to: State, actor: str) -> None:
    log.info(
        "fulfilment moved",
        extra={
            "action": "fulfilment_moved",
            "reference": fulfilment.reference,
            "before": str(fulfilment.state),
            "after": to.value,
            "actor": actor,
        },
    )
