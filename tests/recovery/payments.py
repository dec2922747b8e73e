"""Payments for the workers of a stack, and what must be true of them at the end."""

from collections import Counter
from datetime import timedelta

import psutil
from django.db.models import F

from fulfilment.models import Attempt, Fulfilment
from tests.connectors.sandbox import until
from tests.integration.fulfilment.support import start
from tests.recovery.stack import BOUND, Stack

# A sweep a second; the rest is a machine that has more to do.
SWEEP = timedelta(seconds=15)


def outside(narration: str = "INV-1001", *, connector: str = "sandbox") -> Fulfilment:
    """One that waits to be sent; nobody is told of it, so the poller has to find it."""
    instruction = {"bank": "058", "account": "0123456789", "narration": narration}
    return start(connector=connector, amount=100_00, instruction=instruction)


def settled(*rows: Fulfilment, manned: bool = True) -> None:
    """Every one of them ends as fulfilled; where somebody swept, none was in dead hands for long (G5)."""
    ids = [row.pk for row in rows]
    waiting = Fulfilment.objects.filter(pk__in=ids).exclude(state="fulfilled")
    until(lambda: not waiting.exists(), what=f"{len(rows)} payments to be paid", seconds=BOUND)
    kept = Attempt.objects.filter(fulfilment__in=ids, closed_at__gt=F("lease_until") + SWEEP)
    late = kept.exclude(worker="worker:gone")  # made up by the test, long ago
    assert not (manned and late.exists()), (
        "a payment stayed in dead hands for longer than a lease and a sweep"
    )


def paid_once(stack: Stack, *rows: Fulfilment) -> None:
    """In the provider's books, and nobody called it twice."""
    books = stack.sandbox.books()
    payments = Counter(payment["reference"] for payment in books["payments"])
    calls = Counter(c["reference"] for c in books["calls"] if c["method"] == "POST")
    for row in rows:
        assert payments[row.reference] == 1, f"paid {payments[row.reference]} times, not once"
        assert calls[row.reference] == 1, f"called {calls[row.reference]} times, not once"


def booked(stack: Stack, row: Fulfilment) -> None:
    """Wait until the provider has it: the worker is in mid-call."""
    until(lambda: stack.sandbox.payments(row.reference), what="the call to arrive", seconds=BOUND)


def caller(row: Fulfilment) -> psutil.Process:
    """The process that has it in hand."""
    return psutil.Process(int(row.attempts.get(closed_at=None).worker.rpartition(":")[2]))
