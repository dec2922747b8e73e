"""When to ask and when to try again. Pure: the chance is passed in."""

from collections.abc import Sequence
from datetime import timedelta


def distance(schedule: Sequence[timedelta], *, position: int, jitter: float = 0.0) -> timedelta:
    """How long to wait after `position` look-ups; the last distance repeats for ever.

    `jitter` is the share by which this one is longer (or, negative, shorter).
    """
    return schedule[min(position, len(schedule) - 1)] * (1 + jitter)


def backoff(refusals: int, *, first: timedelta, last: timedelta, jitter: float = 0.0) -> timedelta:
    """How long to wait after so many refusals in a row: `first`, doubling, at most `last`."""
    doublings = min(max(refusals - 1, 0), 30)  # beyond 30 a float would only grow
    return min(first * (1 << doublings), last) * (1 + jitter)
