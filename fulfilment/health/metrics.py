"""The figures for Prometheus, asked of PostgreSQL at the moment of the scrape (extra `metrics`)."""

import logging
from collections.abc import Iterator, Mapping

from django.db import DatabaseError, InterfaceError
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from fulfilment import health
from fulfilment.health.figures import BEAT, ROUNDS, TALLIES, Figures, Group

log = logging.getLogger(__name__)

_SAYS = {
    "conflict": ("fulfilment_conflicts", "Cases opened because of a contradiction."),
    "late_success": ("fulfilment_late_successes", "Done, said of what had been given up."),
    "found_after_not_found": (
        "fulfilment_found_after_not_found",
        "Look-ups that found what an earlier one had not: how wrong a guess would have been.",
    ),
}


class StandingCollector(Collector):
    """Ages, counts and signs of life, and what of them is above its limit.

    Without the database `fulfilment_database_up` is 0 and the rest is absent: no figure is better
    than the last one.
    """

    def collect(self) -> Iterator[Metric]:
        """Called once per scrape, in the process that answers it."""
        up = GaugeMetricFamily(
            "fulfilment_database_up", "1 if the database told how the machine stands, else 0."
        )
        try:
            found = health.now()
        except (DatabaseError, InterfaceError):
            log.warning("health unknown", extra={"action": "health_unknown"}, exc_info=True)
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from _groups(found.figures)
        yield from _rounds(found.figures)
        yield from _connectors(found.figures)
        yield from _tallies(found.figures)
        yield from _verdict(found)

    def describe(self) -> list[Metric]:
        """Nothing: a registry that asks must not ask the database while the process starts."""
        return []


def _groups(figures: Figures) -> Iterator[Metric]:
    yield from _group("payments", "state", "Open payments", figures.rows)
    yield from _group("events", "status", "Events that wait or were given up", figures.events)
    yield from _group("cases", "reason", "Open cases", figures.cases)
    yield GaugeMetricFamily(
        "fulfilment_overdue_seconds",
        "How long the check that waits longest has been due.",
        value=figures.overdue,
    )
    yield GaugeMetricFamily(
        "fulfilment_without_next_check",
        "Open payments that nobody would ever look at again: always 0.",
        value=figures.without_next_check,
    )


def _group(
    noun: str, label: str, words: str, groups: Mapping[str, Group]
) -> Iterator[GaugeMetricFamily]:
    count = GaugeMetricFamily(f"fulfilment_{noun}", f"{words}.", labels=[label])
    oldest = GaugeMetricFamily(
        f"fulfilment_oldest_{noun}_seconds", f"{words}: age of the oldest.", labels=[label]
    )
    for name, group in groups.items():
        count.add_metric([name], group.count)
        oldest.add_metric([name], group.oldest)
    yield count
    yield oldest


def _rounds(figures: Figures) -> Iterator[Metric]:
    """What never happened is absent: 0 seconds would say that it happened just now."""
    since = GaugeMetricFamily(
        "fulfilment_since_seconds",
        "Since the last round, and the last tick of beat.",
        labels=["what"],
    )
    rounds = CounterMetricFamily("fulfilment_rounds", "Rounds, and ticks of beat.", labels=["what"])
    for name in (*ROUNDS, BEAT):
        rounds.add_metric([name], figures.counts[name])
        if (age := figures.last[name]) is not None:
            since.add_metric([name], age)
    yield since
    yield rounds


def _connectors(figures: Figures) -> Iterator[Metric]:
    failures = GaugeMetricFamily(
        "fulfilment_connector_failures",
        "Calls in a row that brought no answer.",
        labels=["connector"],
    )
    at_rest = GaugeMetricFamily(
        "fulfilment_breaker_open", "1 while nobody calls this connector.", labels=["connector"]
    )
    for name, count in figures.failures.items():
        failures.add_metric([name], count)
        at_rest.add_metric([name], int(figures.at_rest[name]))
    yield failures
    yield at_rest


def _tallies(figures: Figures) -> Iterator[Metric]:
    for name in TALLIES:
        metric, words = _SAYS[name]
        yield CounterMetricFamily(metric, words, value=figures.counts[name])


def _verdict(found: health.Health) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "fulfilment_healthy", "1 while no figure is above its limit.", value=int(found.healthy)
    )
    trouble = GaugeMetricFamily(
        "fulfilment_trouble", "1 for each limit that is passed.", labels=["limit"]
    )
    for each in found.troubles:
        trouble.add_metric([each.name], 1)
    yield trouble
