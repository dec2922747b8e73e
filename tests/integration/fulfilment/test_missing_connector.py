"""A connector that was removed, renamed or cannot be built: its payments do not freeze."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from fulfilment import store
from fulfilment.dispatch import attempt, claim, poll, sweep
from fulfilment.models import Case, Fulfilment
from fulfilment.reconcile import cases, lookups
from tests.integration.fulfilment.support import due, held, now, staff, start

pytestmark = pytest.mark.django_db


class Broken:
    """As with a secret that is not there any more."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        raise ValueError("SECRET is missing")


@pytest.fixture(params=["removed", "broken"])
def lose(request, settings):
    """Call it when the payment is under way, as a deployment happens."""

    def lose() -> None:
        connectors = settings.FULFILMENT["CONNECTORS"]
        gone = {} if request.param == "removed" else {"other": {"CLASS": Broken}}
        settings.FULFILMENT["CONNECTORS"] = {"memory": connectors["memory"]} | gone

    return lose


@pytest.fixture
def find(settings):
    """The deployment that brings it back."""
    connectors = dict(settings.FULFILMENT["CONNECTORS"])
    return lambda: settings.FULFILMENT.update(CONNECTORS=connectors)


def taken_back(lose) -> Fulfilment:
    row = start(connector="other")
    held(row, sent=True)
    lose()
    assert sweep.sweep() == 1, "the row stays dispatching for ever, and nobody hears of it"
    return now(row)


def test_what_was_sent_goes_to_a_person_at_once(lose) -> None:
    row = taken_back(lose)
    assert row.state == "needs_reconciliation"
    assert Case.objects.get().reason == "cannot_ask"


def test_a_person_can_decide_it(lose, books) -> None:
    row = taken_back(lose)
    cases.resolve(
        row.pk,
        actor=staff("senior", "resolve_fulfilled"),
        verdict="fulfilled",
        evidence_reference="statement 17",
        version=row.version,
    )
    assert books.told == {"fulfilled": 1}


def test_when_it_is_there_again_the_provider_is_asked(find, lose, provider) -> None:
    row = taken_back(lose)
    due(row)
    lookups.look_up_due()
    assert now(row).state == "needs_reconciliation"
    find()
    provider.books[row.reference] = row.amount
    due(row)
    lookups.look_up_due()
    assert now(row).state == "fulfilled"
    assert Case.objects.get().closed_by == "resolver"


def test_what_was_not_sent_waits_for_it_ever_longer(find, lose, provider) -> None:
    row = start(connector="other")
    lose()
    pauses = []
    for _ in range(3):
        due(row)
        attempt.run(row.pk)
        pauses.append((now(row).next_check_at - store.now()).total_seconds())
    assert pauses == pytest.approx([5, 10, 20], abs=1), "the pause must double"
    assert now(row).state == "pending"
    assert not row.attempts.filter(sent_at__isnull=False).exists(), "marked, and nobody to send it"
    find()
    due(row)
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert provider.sends == [row.reference]


def test_a_person_hears_of_what_waits_for_it_too_long(lose, settings) -> None:
    start(connector="other")
    lose()
    settings.FULFILMENT["PENDING_DEADLINE"] = timedelta(0)
    assert sweep.open_cases_for_waiting() == 1
    assert Case.objects.get().reason == "pending_too_long"


def test_it_does_not_keep_the_others(lose, settings, provider) -> None:
    settings.FULFILMENT["BATCH"] = 1
    start(connector="other")
    good = start()
    lose()
    for _ in range(2):
        for pk in poll.due():
            attempt.run(pk)
    assert now(good).state == "fulfilled", "the row that cannot be sent was the first again"


def test_a_call_that_is_marked_when_it_goes_is_provably_not_sent(lose, provider) -> None:
    row = start(connector="other")
    claimed = claim.claim(row.pk, worker="worker:a")
    assert claimed
    attempt.mark(claimed)
    lose()
    settled = attempt.settle(claimed, attempt.send(claimed))
    assert settled is not None
    assert settled.state == "pending"
    assert provider.sends == []
