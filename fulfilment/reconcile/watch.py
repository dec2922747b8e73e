"""How long and how often a payment with a verdict is asked about again. Pure.

Money comes back days later, and a provider that sends no event of it has to be asked. So has one
whose report contradicts the verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fulfilment.reconcile import schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What is known of it; `ends_at` is the end of the provider's horizon, None without one."""

    now: datetime
    ends_at: datetime | None
    every: timedelta
    schedule: Sequence[timedelta]
    jitter: float = 0.0
    visible_after: timedelta = timedelta(0)
    doubtful: int = 0  # look-ups in a row that learnt nothing or found nothing
    case_open: bool = False


def next_at(watch: Watch) -> datetime | None:
    """When to ask again; None: never again.

    Within the horizon every `every`, and once more at its end. After an answer that leaves it open,
    soon, then ever rarer; for as long as somebody works on it, or a little beyond the horizon.
    """
    if watch.doubtful:
        return watch.now + _soon(watch) if watch.case_open or _in_reach(watch) else None
    if watch.ends_at is None or watch.now >= watch.ends_at:
        return None
    return min(watch.now + watch.every * (1 + watch.jitter), watch.ends_at)


def _in_reach(watch: Watch) -> bool:
    return watch.ends_at is not None and watch.now <= watch.ends_at + 2 * watch.every


def _soon(watch: Watch) -> timedelta:
    """Never sooner than a look-up can show anything new: answers of one instant would agree."""
    pause = schedule.distance(watch.schedule, position=watch.doubtful - 1, jitter=watch.jitter)
    return max(min(pause, watch.every), watch.visible_after)
