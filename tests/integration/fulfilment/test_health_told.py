"""What the machine's figures are told to: the scrape, and the limits that a project sets."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.checks import run_checks
from prometheus_client import CollectorRegistry, generate_latest

from fulfilment import health, tasks
from fulfilment.health.metrics import StandingCollector
from fulfilment.reconcile import budget
from tests.integration.fulfilment.support import start

pytestmark = pytest.mark.django_db(transaction=True)


def figures() -> Any:
    return health.now().figures


def test_a_provider_that_does_not_answer_is_seen_and_so_is_its_breaker(settings: Any) -> None:
    settings.FULFILMENT = settings.FULFILMENT | {"BREAKER_AFTER": 2}
    budget.heard("memory", informed=False)
    assert (figures().failures, figures().at_rest) == ({"memory": 1}, {"memory": False})
    budget.heard("memory", informed=False)
    assert (figures().failures, figures().at_rest) == ({"memory": 2}, {"memory": True})
    registry = CollectorRegistry()
    registry.register(StandingCollector())
    said = generate_latest(registry).decode().splitlines()
    assert 'fulfilment_connector_failures{connector="memory"} 2.0' in said
    assert 'fulfilment_breaker_open{connector="memory"} 1.0' in said
    budget.heard("memory", informed=True)
    assert (figures().failures, figures().at_rest) == ({"memory": 0}, {"memory": False})


def test_the_scrape_tells_all_of_it(provider) -> None:
    start()
    tasks.poll()
    registry = CollectorRegistry()
    registry.register(StandingCollector())
    said = generate_latest(registry).decode()
    for line in (
        "fulfilment_database_up 1.0",
        'fulfilment_payments{state="pending"} 1.0',
        'fulfilment_cases{reason="conflict"} 0.0',
        'fulfilment_events{status="dead"} 0.0',
        "fulfilment_without_next_check 0.0",
        'fulfilment_rounds_total{what="beat"} 1.0',
        "fulfilment_late_successes_total 0.0",
        "fulfilment_found_after_not_found_total 0.0",
        "fulfilment_conflicts_total 0.0",
        "fulfilment_healthy 0.0",
        'fulfilment_trouble{limit="since_sweep"} 1.0',
    ):
        assert line in said.splitlines(), f"{line} is missing in\n{said}"
    assert re.search(r'fulfilment_since_seconds\{what="beat"\} [0-9]', said)
    assert 'fulfilment_since_seconds{what="sweep"}' not in said, "0 would say: just now"


@pytest.mark.parametrize(
    "given",
    [
        {"since_swep": timedelta(minutes=1)},
        {"since_sweep": 60},
        {"dead_events": timedelta(minutes=1)},
        {"overdue": timedelta(0)},
        {"conflicts": -1},
    ],
    ids=str,
)
def test_a_limit_that_cannot_be_meant_is_refused_at_start(settings: Any, given: Any) -> None:
    settings.FULFILMENT = settings.FULFILMENT | {"HEALTH": given}
    found = [m for m in run_checks() if m.id == "fulfilment.E027"]
    assert len(found) == 1
    assert next(iter(given)) in found[0].msg


def test_limits_that_can_be_meant_are_taken(settings: Any) -> None:
    given = {"since_sweep": timedelta(minutes=1), "dead_events": 0, "overdue": None}
    settings.FULFILMENT = settings.FULFILMENT | {"HEALTH": given}
    assert not [m for m in run_checks() if m.id == "fulfilment.E027"]
