"""A connector that ends the process which builds it: it is counted, and keeps nobody else."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from fulfilment.dispatch import attempt, poll, sweep
from fulfilment.models import Case, Fulfilment
from tests.connectors.sandbox import until
from tests.integration.fulfilment.support import due, held, now, start

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """As a signal does it: past every `except Exception`."""


class Deadly:
    """As with a library that brings its process down."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        raise Killed


@pytest.fixture
def deadly(settings):
    """Call it when the payment is under way; calling what it returns makes all well again."""

    def become() -> Any:
        connectors = settings.FULFILMENT["CONNECTORS"]
        settings.FULFILMENT["CONNECTORS"] = connectors | {"other": {"CLASS": Deadly}}
        return lambda: settings.FULFILMENT.update(CONNECTORS=connectors)

    return become


def dies_with(row: Fulfilment) -> None:
    due(row)
    with pytest.raises(Killed):
        attempt.run(row.pk)


def test_a_worker_that_dies_of_a_constructor_has_claimed_the_row_before(deadly, provider) -> None:
    row = start(connector="other")
    deadly()
    dies_with(row)
    assert now(row).state == "dispatching", (
        "no claim is committed before the connector's code runs: the worker's death is not counted"
    )
    assert row.attempts.get().sent_at is None
    assert poll.due() == [], "the poller sends every worker into the same death"
    assert provider.sends == []


def test_a_row_whose_judging_kills_the_sweeper_is_not_the_first_again(deadly, settings) -> None:
    settings.FULFILMENT["BATCH"] = 1
    worst, fine = start(connector="other"), start()
    held(worst, sent=False)
    held(fine, sent=False)
    deadly()
    with pytest.raises(Killed):
        sweep.sweep()
    assert sweep.sweep() == 1, "one row stops the sweep of all others, for ever"
    assert now(fine).state == "pending"


def test_a_person_is_asked_after_some_deaths(deadly, settings) -> None:
    settings.FULFILMENT |= {"CRASHES": 2, "LEASE": timedelta(milliseconds=1)}
    row = start(connector="other")
    for _ in range(2):
        well = deadly()
        dies_with(row)
        well()
        until(sweep.sweep, what="the sweeper to take the row back", seconds=20)
    assert now(row).state == "needs_reconciliation"
    assert Case.objects.get().reason == "crashes"
