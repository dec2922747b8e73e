"""Reads a row with all that hangs on it into the policy's own values."""

from collections.abc import Iterable
from datetime import datetime

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.connectors import registry
from fulfilment.connectors.base import Capabilities
from fulfilment.models import Attempt, Evidence, Fulfilment
from fulfilment.reconcile import generations
from fulfilment.reconcile.attempts import Try, own_answers
from fulfilment.reconcile.evidence import Fact, Finding, Source
from fulfilment.reconcile.situation import Rules, Situation
from fulfilment.states import State


def situation_of(
    row: Fulfilment, *, news: Iterable[int] = (), rules: Rules | None = None
) -> Situation:
    """All that is known of `row` now; `news` are ids of evidence that nobody has judged yet.

    Read under the row's lock by everybody who applies a verdict. `rules` are its connector's, read
    here where they are not given.
    """
    facts = facts_of(row)
    last_case = row.cases.filter(closed_at__isnull=False).order_by("-closed_at").first()
    return Situation(
        state=State(row.state),
        amount=row.amount,
        currency=row.currency,
        rules=rules or rules_of(row.connector),
        now=store.now(),
        facts=facts,
        tries=tuple(try_of(a, facts) for a in row.attempts.order_by("number")),
        failed_starts=row.failed_starts,
        judged_at=last_case.closed_at if last_case else None,
        paid_before=generations.paid_before(row),
        news=frozenset(news),
    )


def facts_of(row: Fulfilment) -> tuple[Fact, ...]:
    """Everything that was said, oldest first."""
    return tuple(fact_of(e) for e in row.evidence.select_related("attempt").order_by("id"))


def rules_of(connector: str) -> Rules:
    """What this connector's provider promises and how patient we are with it."""
    return rules_under(registry.connector(connector).capabilities)


def rules_under(capabilities: Capabilities) -> Rules:
    """The rules of a provider that promises this."""
    settings = conf()
    return Rules(
        capabilities=capabilities,
        lease=settings.lease,
        total_deadline=settings.total_deadline,
        margin=settings.margin,
        case_deadline=settings.case_deadline,
        crashes=settings.crashes,
    )


def try_of(attempt: Attempt, facts: Iterable[Fact]) -> Try:
    """The attempt with what its own call answered."""
    return Try(
        number=attempt.number,
        claimed_at=attempt.claimed_at,
        lease_until=attempt.lease_until,
        sent_at=attempt.sent_at,
        maybe_sent=attempt.maybe_sent,
        closed_at=attempt.closed_at,
        answers=own_answers(facts, attempt=attempt.number),
    )


def fenced_from(attempt: Attempt) -> datetime | None:
    """From when on nothing of this attempt can begin any more; None while it is open."""
    facts = facts_of(attempt.fulfilment)
    return try_of(attempt, facts).fenced_at(call=conf().total_deadline + conf().margin)


def fact_of(evidence: Evidence) -> Fact:
    """One piece of evidence, as the policy reads it."""
    return Fact(
        id=evidence.pk,
        source=Source(evidence.source),
        finding=Finding(evidence.finding),
        recorded_at=evidence.recorded_at,
        conclusive=evidence.conclusive,
        canary=evidence.canary,
        amount=evidence.amount,
        currency=evidence.currency,
        other_recipient=evidence.other_recipient,
        provider_id=evidence.provider_id,
        attempt=evidence.attempt.number if evidence.attempt else None,
        asked_at=evidence.asked_at,
    )
