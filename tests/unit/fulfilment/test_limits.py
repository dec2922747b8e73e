"""From which figure on something is wrong; no database."""

import math
from datetime import timedelta

import pytest

from fulfilment.health import limits

POLL, LEASE, CASE = timedelta(seconds=5), timedelta(seconds=30), timedelta(hours=24)
DEFAULTS = limits.defaults(poll_interval=POLL, lease=LEASE, case_deadline=CASE)
QUIET = dict.fromkeys(DEFAULTS, 0.0)


def names(figures: dict[str, float], given: dict[str, limits.Limit] | None = None) -> list[str]:
    return [each.name for each in limits.troubles(figures, DEFAULTS | (given or {}))]


def test_a_machine_at_rest_is_healthy() -> None:
    assert names(QUIET) == []


@pytest.mark.parametrize(
    ("name", "fine", "too_much"),
    [
        ("oldest_pending", 599, 601),
        ("oldest_dispatching", 149, 151),  # the lease, and the patience with the sweep
        ("oldest_unknown", 3 * 86400 - 1, 3 * 86400 + 1),
        ("oldest_received", 119, 121),
        ("overdue", 119, 121),
        ("without_next_check", 0, 1),
        ("since_sweep", 119, math.inf),
        ("since_look_up", 119, 121),
        ("since_apply", 119, 121),
        ("since_dispatch", 119, 121),
        ("since_beat", 119, 121),
    ],
)
def test_each_default_is_passed_by_what_is_above_it_only(
    name: str, fine: float, too_much: float
) -> None:
    assert names(QUIET | {name: fine}) == []
    assert names(QUIET | {name: too_much}) == [name]


@pytest.mark.parametrize("name", ["oldest_parked", "oldest_case", "dead_events", "conflicts"])
def test_what_is_for_people_alarms_nobody_unless_it_is_asked_for(name: str) -> None:
    huge = QUIET | {name: 1e9}
    asked: limits.Limit = 3 if name in limits.COUNTS else timedelta(hours=1)
    assert names(huge) == []
    assert names(huge, {name: asked}) == [name]


def test_a_limit_of_none_is_a_figure_without_an_alarm() -> None:
    assert names(QUIET | {"overdue": 1e9}, {"overdue": None}) == []


def test_long_polls_are_waited_for() -> None:
    assert limits.patience(timedelta(minutes=1)) == timedelta(minutes=10)
    assert limits.patience(timedelta(seconds=1)) == timedelta(minutes=2)


def test_every_limit_has_its_words_and_they_name_figure_and_limit() -> None:
    assert set(limits.WORDS) == set(DEFAULTS)
    said = limits.troubles(QUIET | {"overdue": 180.4, "since_sweep": math.inf}, DEFAULTS)
    assert [each.sentence for each in said] == [
        "A check is overdue: 180 s, allowed 120 s",
        "The last sweep is long ago: never, allowed 120 s",
    ]
