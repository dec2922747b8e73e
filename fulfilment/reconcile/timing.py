"""Sets when a row is looked at next. `next_check_at` is never empty in an open state."""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile

from django.db import transaction
from django.db.models.functions import Least

from fulfilment import starts, store, transitions
from fulfilment.conf import conf
from fulfilment.connectors import registry
from fulfilment.connectors.base import Capabilities
from fulfilment.models import Fulfilment
from fulfilment.reconcile import policy, reading, schedule, watch
from fulfilment.reconcile.evidence import Finding, Source
from fulfilment.reconcile.situation import Situation
from fulfilment.reconcile.verdicts import Ask, Pace, Requeue
from fulfilment.states import OPEN, State


def first_check_at(situation: Situation) -> datetime:
    """When to ask for the first time: not before the provider can show what it has."""
    visible_after = situation.rules.capabilities.visible_after
    at = situation.now + max(_distance(position=0), visible_after)
    return _not_after(at, policy.case_due_at(situation), now=situation.now)


def reschedule(
    row: Fulfilment, situation: Situation, *, until: datetime | None = None, asked: bool = False
) -> Fulfilment:
    """Set the next look-up by the schedule, or sooner, at `until`.

    Where nobody asked as the schedule wanted (`asked` is false: a person did, or an event came),
    the next look-up stays when it was. Without information the distance grows, but the position
    does not: the schedule goes on where it was once the provider can be asked again.
    """
    position = row.checks + _unanswered(situation)
    at = _not_after(situation.now + _distance(position=position), until, now=situation.now)
    if not asked and row.next_check_at is not None:
        at = min(at, row.next_check_at)
    Fulfilment.objects.filter(pk=row.pk, version=row.version).update(next_check_at=at)
    row.next_check_at = at
    return row


def requeue(row: Fulfilment, verdict: Requeue, *, actor: str, at: datetime) -> Fulfilment:
    """Back to `pending` under the same reference; a worker hears of it when it is due now."""
    refusals = row.refusals + 1 if verdict.pace is Pace.BACK_OFF else 0
    # A new sending begins the schedule anew, but for one that is itself what the schedule does.
    checks = row.checks + 1 if verdict.pace is Pace.SCHEDULE else 0
    moved = transitions.move(
        row,
        to=State.PENDING,
        actor=actor,
        reason=verdict.reason,
        next_check_at=at + _pause(verdict.pace, refusals=refusals, position=row.checks),
        refusals=refusals,
        checks=checks,
    )
    if moved is None:  # the row is locked: nobody can have moved it
        raise transitions.stale(row.pk)
    if verdict.pace is Pace.NOW:
        transaction.on_commit(partial(starts.hint, moved.pk), robust=True)
    return moved


def postpone(fulfilment_id: int) -> None:
    """Let a row that cannot be worked on now wait behind the others, longer each time."""
    row = Fulfilment.objects.get(pk=fulfilment_id)
    refusals = row.refusals + 1
    pause = _pause(Pace.BACK_OFF, refusals=refusals, position=row.checks)
    # Where somebody moved it meanwhile, its next check is not ours to set.
    same = Fulfilment.objects.filter(pk=row.pk, version=row.version, state__in=OPEN)
    same.update(next_check_at=store.now() + pause, refusals=refusals)


def leave_until(fulfilment_id: int, *, until: datetime) -> None:
    """Nobody may call its provider before `until`: the row waits, and keeps its place in the schedule.

    Spread over as long again, so that the rows of one outage do not come back as one wave.
    """
    at = until + random.random() * conf().breaker_open  # noqa: S311  # spreads load, guards nothing
    row = Fulfilment.objects.filter(pk=fulfilment_id)
    waiting = row.filter(state__in=[State.PENDING, State.NEEDS_RECONCILIATION])
    waiting.filter(next_check_at__lt=at).update(next_check_at=at)
    row.exclude(state__in=OPEN).filter(recheck_at__lt=at).update(recheck_at=at)


def ask_about_decided(row: Fulfilment) -> None:
    """Let the next round of look-ups ask about a row that has its verdict."""
    decided = Fulfilment.objects.filter(pk=row.pk).exclude(state__in=OPEN)
    decided.update(recheck_at=Least(store.now(), "recheck_at"))


def first_recheck_at(connector: str) -> datetime | None:
    """When something that is done now is asked about first; None where nothing comes back."""
    at = store.now()
    return watch.next_at(_watch(connector, now=at, decided_at=at))


def recheck_again(fulfilment_id: int) -> None:
    """Set when a decided row is asked about next, after it was asked about now."""
    row = store.lock(fulfilment_id)
    if State(row.state).is_open or row.decided_at is None:
        return
    situation = reading.situation_of(row)
    if isinstance(policy.decide(situation), Ask):
        # A report came while the provider was being asked: it is asked about that one too.
        Fulfilment.objects.filter(pk=row.pk).update(recheck_at=situation.now)
        return
    asked = [f.finding for f in reversed(situation.facts) if f.source is Source.LOOKUP]
    seen = _watch(row.connector, now=situation.now, decided_at=row.decided_at)
    given_back = row.state == State.REVERSED
    known = replace(
        seen,
        ends_at=None if given_back else seen.ends_at,
        doubtful=len(list(takewhile(_DOUBTFUL.__contains__, asked))),
        case_open=row.cases.filter(closed_at__isnull=True).exists(),
    )
    Fulfilment.objects.filter(pk=row.pk).update(recheck_at=watch.next_at(known))


_DOUBTFUL = frozenset({Finding.NOT_FOUND, Finding.NO_INFORMATION})


def _watch(connector: str, *, now: datetime, decided_at: datetime) -> watch.Watch:
    settings, capabilities = conf(), reading.rules_of(connector).capabilities
    horizon = _horizon(connector, capabilities)
    return watch.Watch(
        now=now,
        ends_at=decided_at + horizon if horizon else None,
        every=settings.watch_every,
        schedule=settings.schedule,
        jitter=_jitter(),
        visible_after=capabilities.visible_after,
    )


def _horizon(connector: str, capabilities: Capabilities) -> timedelta | None:
    """Until when to ask. Of a connector that is missing nobody knows: it may come back tomorrow."""
    if not registry.can_be_used(connector):
        return conf().payloads_kept
    return capabilities.late_reversal_horizon if capabilities.lookup_by_reference else None


def _pause(pace: Pace, *, refusals: int, position: int) -> timedelta:
    settings = conf()
    match pace:
        case Pace.NOW:
            return timedelta(0)
        case Pace.BACK_OFF:
            return schedule.backoff(
                refusals,
                first=settings.backoff_first,
                last=settings.backoff_last,
                jitter=_jitter(),
            )
        case Pace.SCHEDULE:
            return _distance(position=position)


def _distance(*, position: int) -> timedelta:
    return schedule.distance(conf().schedule, position=position, jitter=_jitter())


def _jitter() -> float:
    """The rows of one outage must not come back as one wave."""
    return random.uniform(-1, 1) * conf().jitter  # noqa: S311  # spreads load, guards nothing


def _not_after(at: datetime, until: datetime | None, *, now: datetime) -> datetime:
    return min(at, until) if until is not None and until > now else at


def _unanswered(situation: Situation) -> int:
    """Look-ups in a row, up to now, that learnt nothing."""
    asked = [f for f in reversed(situation.facts) if f.source is Source.LOOKUP]
    return len(list(takewhile(lambda f: f.finding is Finding.NO_INFORMATION, asked)))
