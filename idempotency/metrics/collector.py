"""What is open, asked of PostgreSQL at the moment of the scrape: no process knows it by itself."""

import logging
from collections.abc import Iterator, Mapping

from django.db import DatabaseError, InterfaceError
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from idempotency import standing
from idempotency.standing import Group

log = logging.getLogger("idempotency")


class StandingCollector(Collector):
    """Open keys and actions, their ages, and what a sweep should have dealt with.

    Without the database `idempotency_database_up` is 0 and the rest is absent: no figure is better
    than the last one.
    """

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called once per scrape, in the process that answers it."""
        up = GaugeMetricFamily(
            "idempotency_database_up", "1 if the database told how the records stand, else 0."
        )
        try:
            found = standing.now()
        except (DatabaseError, InterfaceError):
            log.warning("records not counted", extra={"action": "standing_unknown"}, exc_info=True)
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from _by_state("key", found.keys)
        yield from _by_state("action", found.actions)
        yield from _due(found.due)

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing: a registry that asks must not ask the database while the process starts."""
        return []


def _by_state(noun: str, groups: Mapping[str, Group]) -> Iterator[GaugeMetricFamily]:
    count = GaugeMetricFamily(f"idempotency_open_{noun}s", f"Open {noun}s.", labels=["state"])
    oldest = GaugeMetricFamily(
        f"idempotency_oldest_open_{noun}_seconds",
        f"Age of the oldest open {noun}; 0 without any.",
        labels=["state"],
    )
    for state, group in groups.items():
        count.add_metric([state], group.count)
        oldest.add_metric([state], group.oldest)
    yield count
    yield oldest


def _due(due: Group) -> Iterator[GaugeMetricFamily]:
    yield GaugeMetricFamily(
        "idempotency_due_keys", "Keys that a sweep has to deal with.", value=due.count
    )
    yield GaugeMetricFamily(
        "idempotency_oldest_due_seconds",
        "How long the first of them has been due: above a few sweeps, nobody sweeps.",
        value=due.oldest,
    )
