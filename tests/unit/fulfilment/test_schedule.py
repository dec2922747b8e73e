"""The schedule goes on for ever, and no distance is nothing or without end."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from fulfilment.conf import Conf
from fulfilment.reconcile import schedule

TEN_YEARS = 3660  # daily look-ups, and those of the first day
DAY = timedelta(days=1)
DEFAULT = Conf()
SHARE = DEFAULT.jitter
JITTER = st.floats(min_value=-SHARE, max_value=SHARE)


@settings(max_examples=15, deadline=None)
@given(st.lists(JITTER, min_size=1, max_size=20))
def test_ten_years_of_look_ups_each_come_later_than_the_one_before_by_a_day_at_most(
    chance: list[float],
) -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    for position in range(TEN_YEARS):
        pause = schedule.distance(
            DEFAULT.schedule, position=position, jitter=chance[position % len(chance)]
        )
        assert timedelta(seconds=24) <= pause <= 1.2 * DAY, (
            f"look-up {position} comes after {pause}: the schedule ended, or left its bounds"
        )
        at += pause
    assert at > datetime(2034, 1, 1, tzinfo=UTC)


def test_the_defaults_are_the_schedule_that_is_published() -> None:
    seconds = [30, 120, 300, 900, 3600, 10800, 43200, 86400, 86400]
    distances = [schedule.distance(DEFAULT.schedule, position=i) for i in range(len(seconds))]
    assert distances == [timedelta(seconds=s) for s in seconds]


@given(st.integers(min_value=0, max_value=10**9), JITTER)
def test_any_number_of_refusals_waits_between_the_first_and_the_last_back_off(
    refusals: int, chance: float
) -> None:
    first, last = DEFAULT.backoff_first, DEFAULT.backoff_last
    pause = schedule.backoff(refusals, first=first, last=last, jitter=chance)
    assert first * (1 - SHARE) <= pause <= last * (1 + SHARE)
