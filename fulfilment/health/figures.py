"""How the machine stands at this moment, in a few bounded questions over partial indexes."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from fulfilment.models import CaseReason, EventStatus
from fulfilment.states import OPEN

# A scrape must never queue up behind what it is there to show.
_BOUND = "SET LOCAL statement_timeout = '2s'"

# Open rows only: a few among millions that are final. A row waits to be sent since it was asked for,
# or since the last call that may have arrived ended: a refused connection begins no new wait.
OPEN_ROWS = """
SELECT state, count(*),
       extract(epoch FROM clock_timestamp() - min(
           CASE state WHEN 'dispatching' THEN state_changed_at
                      WHEN 'pending' THEN greatest(created_at, arrived.closed_at)
                      ELSE created_at END)),
       extract(epoch FROM clock_timestamp() - min(next_check_at)),
       count(*) FILTER (WHERE next_check_at IS NULL)
  FROM fulfilment
  LEFT JOIN LATERAL (
       SELECT closed_at FROM fulfilment_attempt
        WHERE fulfilment_id = fulfilment.id AND fulfilment.state = 'pending'
          AND closed_at IS NOT NULL AND outcome NOT IN ('not_sent', 'refused', 'unsent')
        ORDER BY number DESC LIMIT 1) AS arrived ON true
 WHERE state IN ('pending', 'dispatching', 'needs_reconciliation')
 GROUP BY state
"""

# What was not applied yet, what waits for something, and what was given up.
EVENTS = """
SELECT status, count(*), extract(epoch FROM clock_timestamp() - min(received_at))
  FROM provider_event
 WHERE status IN ('dead', 'parked', 'received')
 GROUP BY status
"""

CASES = """
SELECT reason, count(*), extract(epoch FROM clock_timestamp() - min(opened_at))
  FROM fulfilment_case
 WHERE closed_at IS NULL
 GROUP BY reason
"""

# A handful of rows, one for each connector that was ever asked.
CONNECTORS = """
SELECT name, failures, open_until IS NOT NULL AND open_until > clock_timestamp()
  FROM fulfilment_connector
"""

PULSES = "SELECT name, count, extract(epoch FROM clock_timestamp() - at) FROM fulfilment_pulse"

STATES = tuple(sorted(OPEN))
STATUSES = (EventStatus.RECEIVED.value, EventStatus.PARKED.value, EventStatus.DEAD.value)
ROUNDS = ("sweep", "look_up", "apply", "dispatch")
BEAT = "beat"
TALLIES = ("conflict", "late_success", "found_after_not_found")


@dataclass(frozen=True, slots=True)
class Group:
    """How many, and the age of the oldest in seconds (0 without any)."""

    count: int = 0
    oldest: float = 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Every name is there, be its group empty. Ages are seconds."""

    rows: Mapping[str, Group]  # by open state
    overdue: float  # how long the check that waits longest has been due
    without_next_check: int  # the database forbids it, so always 0
    events: Mapping[str, Group]  # by status
    cases: Mapping[str, Group]  # by reason
    last: Mapping[str, float | None]  # since the last round of each kind, and of beat; None: never
    counts: Mapping[str, int]  # rounds and tallies since the beginning
    failures: Mapping[str, int]  # of each connector, calls in a row without an answer
    at_rest: Mapping[str, bool]  # is its breaker open?

    def judged(self) -> dict[str, float]:
        """The figures that have a limit, by its name; what never happened is infinitely long ago."""
        rows, events, cases = self.rows, self.events, self.cases
        since = {f"since_{name}": _ever(self.last[name]) for name in ROUNDS}
        if self.last[BEAT] is not None:  # who runs `run_sweeps` has no beat, and misses nothing
            since[f"since_{BEAT}"] = _ever(self.last[BEAT])
        return since | {
            "oldest_pending": rows["pending"].oldest,
            "oldest_dispatching": rows["dispatching"].oldest,
            "oldest_unknown": rows["needs_reconciliation"].oldest,
            "oldest_received": events["received"].oldest,
            "oldest_parked": events["parked"].oldest,
            "oldest_case": max(case.oldest for case in cases.values()),
            "overdue": self.overdue,
            "without_next_check": self.without_next_check,
            "dead_events": events["dead"].count,
            "conflicts": cases[CaseReason.CONFLICT.value].count,
        }


def now() -> Figures:
    """Ask the database. Raises DatabaseError or InterfaceError if it does not answer in 2 s."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_BOUND)
        rows = _asked(cursor, OPEN_ROWS)
        events, cases, pulses, connectors = (
            _asked(cursor, question) for question in (EVENTS, CASES, PULSES, CONNECTORS)
        )
    counts = {name: count for name, count, _ in pulses}
    ages = {name: max(0.0, float(age)) for name, _, age in pulses}
    return Figures(
        rows=_groups(STATES, (row[:3] for row in rows)),
        overdue=max((max(0.0, float(row[3] or 0)) for row in rows), default=0.0),
        without_next_check=sum(row[4] for row in rows),
        events=_groups(STATUSES, events),
        cases=_groups(CaseReason.values, cases),
        last={name: ages.get(name) for name in (*ROUNDS, BEAT)},
        counts={name: counts.get(name, 0) for name in (*ROUNDS, BEAT, *TALLIES)},
        failures={name: failures for name, failures, _ in connectors},
        at_rest={name: rests for name, _, rests in connectors},
    )


def _asked(cursor: Any, question: str) -> list[tuple[Any, ...]]:
    cursor.execute(question)
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _groups(names: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> dict[str, Group]:
    found = {name: Group(count, max(0.0, float(oldest or 0))) for name, count, oldest in rows}
    return {name: found.get(name, Group()) for name in names}


def _ever(age: float | None) -> float:
    return math.inf if age is None else age
