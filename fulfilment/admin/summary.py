"""The head of the queue: what is at risk, how old it is, and whether the checks still run."""

from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError
from django.db.models import Count, Min, QuerySet, Sum
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment import health
from fulfilment.admin import words
from fulfilment.admin.filters import BUCKETS
from fulfilment.admin.money import money
from fulfilment.conf import conf
from fulfilment.health import limits
from fulfilment.models import Case, ConnectorStanding, Fulfilment
from fulfilment.reconcile import budget
from fulfilment.states import OPEN, State
from idempotency.times import when


@dataclass(frozen=True, slots=True)
class AtRisk:
    """One currency's sum."""

    count: int
    amount: str


@dataclass(frozen=True, slots=True)
class AgeCount:
    """How many rows are of this age; `key` is the filter's value."""

    key: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The checks have stopped: how many rows wait, since when."""

    count: int
    since: SafeString


def at_risk(rows: QuerySet[Fulfilment]) -> list[AtRisk]:
    """Never one sum over currencies: that number would mean nothing."""
    sums = rows.order_by().values("currency").annotate(total=Sum("amount"), count=Count("pk"))
    return [
        AtRisk(row["count"], money(row["total"], row["currency"]))
        for row in sums.order_by("currency")
    ]


def ages(rows: QuerySet[Fulfilment], *, now: datetime) -> list[AgeCount]:
    """One count per bucket, youngest first."""
    counts = rows.order_by().aggregate(
        **{f"bucket_{i}": Count("pk", filter=b.condition(now)) for i, b in enumerate(BUCKETS)}
    )
    return [AgeCount(b.key, b.label, counts[f"bucket_{i}"]) for i, b in enumerate(BUCKETS)]


def stopped(*, now: datetime) -> Stopped | None:
    """None while the checks run; over all open rows, because one worker checks them all."""
    late = Fulfilment.objects.filter(state__in=sorted(OPEN), next_check_at__lt=overdue_before(now))
    found = late.aggregate(count=Count("pk"), oldest=Min("next_check_at"))
    if not found["count"]:
        return None
    return Stopped(found["count"], when(found["oldest"], now=now))


def silent() -> list[str]:
    """What should go on all the time and does not, a sentence each; empty while all of it does."""
    try:
        troubles = health.now().troubles
    except DatabaseError:  # it did not answer in time; this page need not wait for it
        return []
    return [each.sentence for each in troubles if each.name.startswith("since_")]


def resting(*, now: datetime) -> list[SafeString]:
    """The providers that nobody calls just now, a sentence each."""
    return [at_rest(row, now=now) for row in budget.at_rest()]


def at_rest(row: ConnectorStanding, *, now: datetime) -> SafeString:
    """Why nobody calls a provider now, and until when."""
    return format_html(
        "{} gave no answer {} times in a row. It is not called before {}.",
        words.provider(row.name),
        row.failures,
        when(row.open_until, now=now),
    )


def open_cases_elsewhere() -> int:
    """Cases on payments with a verdict: something that was said later contradicts it."""
    waiting = Fulfilment.objects.filter(state=State.NEEDS_RECONCILIATION)
    return Case.objects.filter(closed_at__isnull=True).exclude(fulfilment__in=waiting).count()


def overdue_before(now: datetime) -> datetime:
    """A check due before this moment should long have run."""
    return now - limits.patience(conf().poll_interval)
