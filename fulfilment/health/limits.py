"""From which figure on something is wrong, and how it is said. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

Limit: TypeAlias = timedelta | int | None  # None: a figure, and nobody is alarmed by it

# Rows wait for the next poll and for the look-up limit of their connector; only a delay beyond any of
# that means that nobody polls.
PATIENCE = timedelta(minutes=2)
POLLS = 10


# The names of figures that are counted; all others are ages.
COUNTS = frozenset({"without_next_check", "dead_events", "conflicts"})


def patience(poll_interval: timedelta) -> timedelta:
    """How long a due thing may wait before "nobody does it" is the likelier reason."""
    return max(PATIENCE, POLLS * poll_interval)


def defaults(
    *, poll_interval: timedelta, lease: timedelta, case_deadline: timedelta
) -> dict[str, Limit]:
    """The limits of whoever sets none, by name."""
    patient = patience(poll_interval)
    return {
        "oldest_pending": timedelta(minutes=10),  # the longest back-off; the case comes at an hour
        "oldest_dispatching": lease + patient,  # the sweep ends it
        # A person has it since the case deadline; for longer than three of those nobody looks.
        "oldest_unknown": 3 * case_deadline,
        "oldest_received": patient,
        "oldest_parked": None,  # most wait for what never comes; then they are dead, with an alert
        "oldest_case": None,  # people have week-ends
        "overdue": patient,
        "without_next_check": 0,
        "dead_events": None,
        "conflicts": None,
        "since_sweep": patient,
        "since_look_up": patient,
        "since_apply": patient,
        "since_dispatch": patient,
        "since_beat": patient,
    }


@dataclass(frozen=True, slots=True)
class Trouble:
    """One figure above its limit: the limit's name, and a sentence for whoever is woken up."""

    name: str
    sentence: str


def troubles(figures: Mapping[str, float], limits: Mapping[str, Limit]) -> tuple[Trouble, ...]:
    """What is above its limit, in the order of the limits."""
    return tuple(
        Trouble(name, f"{WORDS[name]}: {_said(figures[name], limit)}")
        for name, limit in limits.items()
        if name in figures and limit is not None and figures[name] > _number(limit)
    )


WORDS = {
    "oldest_pending": "A payment waits to be sent",
    "oldest_dispatching": "A payment is being sent",
    "oldest_unknown": "Of a payment nobody knows what became of it",
    "oldest_received": "An event waits to be applied",
    "oldest_parked": "An event waits for what it is about",
    "oldest_case": "A case is open",
    "overdue": "A check is overdue",
    "without_next_check": "Open payments without a next check",
    "dead_events": "Events were given up",
    "conflicts": "Conflicts wait for a person",
    "since_sweep": "The last sweep is long ago",
    "since_look_up": "The last round of look-ups is long ago",
    "since_apply": "The last round of events is long ago",
    "since_dispatch": "The last round of dispatch is long ago",
    "since_beat": "Beat was last heard long ago",
}


def _number(limit: timedelta | int) -> float:
    return limit.total_seconds() if isinstance(limit, timedelta) else limit


def _said(figure: float, limit: timedelta | int) -> str:
    if not isinstance(limit, timedelta):
        return f"{figure:g}, allowed {limit}"
    if math.isinf(figure):
        return f"never, allowed {limit.total_seconds():g} s"
    return f"{figure:.0f} s, allowed {limit.total_seconds():g} s"
