"""Situations for the policy's tests: one moment, and everything else told relative to it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fulfilment.connectors.base import Capabilities, Dedupe
from fulfilment.reconcile.attempts import Try
from fulfilment.reconcile.evidence import CONCLUSIVE, HAPPENED, Fact, Finding, Source
from fulfilment.reconcile.situation import Rules, Situation
from fulfilment.states import State

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE, DEADLINE, MARGIN = (timedelta(seconds=s) for s in (30, 10, 5))
FENCE = LEASE + DEADLINE + MARGIN
VISIBLE = timedelta(minutes=2)
FINAL = timedelta(hours=1)

FOREVER = Capabilities(
    dedupe=Dedupe.REFERENCE_FOREVER, visible_after=VISIBLE, not_found_final_after=FINAL
)
WINDOW = replace(FOREVER, dedupe=Dedupe.KEY_WINDOW, dedupe_window=timedelta(hours=24))
NO_DEDUPE = replace(FOREVER, dedupe=Dedupe.NONE)
NEVER_FINAL = replace(FOREVER, not_found_final_after=None)
BLIND = replace(WINDOW, lookup_by_reference=False)
CACHED_ERRORS = replace(BLIND, errors_cached=True)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def attempt(number: int = 1, *, ago: timedelta, **given: Any) -> Try:
    """An attempt that was sent `ago` and closed by its own worker within the deadline."""
    sent_at = NOW - ago
    made = Try(
        number=number,
        claimed_at=sent_at,
        lease_until=sent_at + LEASE,
        sent_at=sent_at,
        closed_at=min(sent_at + DEADLINE, NOW),
    )
    return replace(made, **given)


def fact(finding: Finding, *, ago: timedelta, **given: Any) -> Fact:
    """What was said `ago`; with our amount where it says done or given back."""
    done = finding in HAPPENED
    said: dict[str, Any] = {
        "id": 1,
        "source": Source.LOOKUP,
        "finding": finding,
        "recorded_at": NOW - ago,
        "conclusive": finding in CONCLUSIVE,
        "canary": finding is Finding.NOT_FOUND,
        "amount": 500 if done else None,
        "currency": "NGN" if done else "",
    }
    return Fact(**(said | given))


def absent(*agos: timedelta, **given: Any) -> tuple[Fact, ...]:
    """Look-ups that found nothing, oldest first."""
    return tuple(fact(Finding.NOT_FOUND, ago=a, id=i + 10, **given) for i, a in enumerate(agos))


def situation(
    *facts: Fact,
    tries: tuple[Try, ...] = (),
    capabilities: Capabilities = FOREVER,
    state: State = State.NEEDS_RECONCILIATION,
    **given: Any,
) -> Situation:
    rules = Rules(
        capabilities=capabilities,
        lease=LEASE,
        total_deadline=DEADLINE,
        margin=MARGIN,
        case_deadline=timedelta(hours=24),
        crashes=5,
    )
    return Situation(
        state=state,
        amount=500,
        currency="NGN",
        rules=rules,
        now=NOW,
        facts=facts,
        tries=tries,
        **given,
    )
