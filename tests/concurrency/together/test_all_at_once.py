"""Worker, sweeper, look-up, two events and a person at one row in the same few milliseconds.

Each is a process of its own. One verdict, one posting, one payment in the provider's books; and
whatever anybody said is on record.
"""

import time
from typing import Any
from uuid import uuid4

import pytest

from fulfilment.connectors.base import Done
from fulfilment.dispatch import attempt
from fulfilment.dispatch.claim import Claimed, claim
from fulfilment.models import Evidence, Fulfilment, ProviderEvent, Transition
from ledgerline.bank.models import Posting
from tests import invariants
from tests.concurrency.killed.stage import Stage
from tests.concurrency.killed.times import LEASE
from tests.concurrency.together.crew import Crew
from tests.integration.fulfilment.support import staff
from tests.integration.webhooks.support import event, signed

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.processes,
    pytest.mark.timeout(300),
]

SEED = 2026


def sent(stage: Stage) -> Claimed:
    """A row whose worker has the answer, and has written nothing of it down."""
    for _ in range(5):  # on a busy machine a worker may be too late to call
        claimed = claim(stage.ordered().pk, worker="worker:late")
        assert claimed
        if attempt.mark(claimed) and isinstance(attempt.send(claimed), Done):
            return claimed
    raise AssertionError("the provider answers nobody in time")


def report(stage: Stage, row: Fulfilment) -> tuple[str, list[Any]]:
    """One of the provider's events about it, and its headers."""
    [payment] = stage.provider.payments(row.reference)
    said = {name: payment[name] for name in ("reference", "amount", "currency")}
    body = event(provider_id=payment["id"], **said)
    return "webhook", [body.decode(), signed(body, name=f"evt_{uuid4().hex}")]


def everybody(stage: Stage, row: Fulfilment) -> list[tuple[str, Any]]:
    return [
        ("answer", [row.pk]),
        ("sweep", [row.pk]),
        ("look_up", [row.pk]),
        report(stage, row),
        report(stage, row),
        ("decide", [row.pk, "amy", "fulfilled"]),
    ]


@pytest.mark.parametrize("rounds", [pytest.param(200, marks=pytest.mark.chaos), 10])
def test_everybody_at_once_makes_one_verdict_and_one_posting(stage: Stage, rounds: int) -> None:
    staff("amy", "resolve_fulfilled")
    lost = [sent(stage).fulfilment for _ in range(rounds // 2)]  # their leases run out
    end = time.monotonic() + LEASE.total_seconds()
    with Crew(stage, size=6, seed=SEED) as crew:
        told = {}
        for number in range(rounds - len(lost)):
            row = sent(stage).fulfilment  # its worker is in time, or nearly
            told[row.pk] = (number, crew.at_once(*everybody(stage, row)))
        time.sleep(max(0.0, end - time.monotonic()))
        for number, row in enumerate(lost, len(told)):
            told[row.pk] = (number, crew.at_once(*everybody(stage, row)))
    stage.decided()
    broke = {n: said for n, said in told.values() if escaped(said)}
    assert not broke, f"an error escaped (seed {SEED}): {broke}"
    for row in Fulfilment.objects.filter(pk__in=told):
        assert_once(row, said=f"seed {SEED}, round {told[row.pk]}")
    assert not ProviderEvent.objects.exclude(status="applied"), "an event was forgotten"
    invariants.hold(invariants.sandbox_books(stage.provider))


def escaped(said: list[tuple[str, Any]]) -> list[Any]:
    """What went wrong: only a person may be told that somebody was there first."""
    *machines, person = said
    errors = [what for how, what in machines if how != "done"]
    return [*errors, *(what for how, what in [person] if how == "broke")]


def assert_once(row: Fulfilment, *, said: str) -> None:
    verdicts = Transition.objects.filter(fulfilment=row, after="fulfilled").count()
    assert (row.state, verdicts) == ("fulfilled", 1), f"{verdicts} verdicts: {said}"
    posted = Posting.objects.filter(transfer__reference=row.payment_id.partition(":")[2])
    assert posted.count() == 1, f"{posted.count()} postings: {said}"
    sources = list(Evidence.objects.filter(fulfilment=row).values_list("source", flat=True))
    assert sources.count("response") == 1, f"the worker's answer was lost: {sources}: {said}"
    assert sources.count("webhook") == 2, f"an event was lost: {sources}: {said}"
