"""A value of IDEMPOTENCY that cannot work is refused at start."""

from datetime import timedelta
from typing import Any

import pytest

from idempotency.checks import check_limits, check_settings
from tests.unit.idempotency.checks.urlconf import ids


def seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, []),
        ({"LOCK_TIMEOUT": seconds(0)}, ["E014"]),
        ({"STATEMENT_TIMEOUT": seconds(0)}, ["E014"] * 2),
        ({"IDLE_TIMEOUT": seconds(0.0004)}, ["E014", "W018"]),
        ({"LOCK_TIMEOUT": seconds(10)}, ["E014"]),
        ({"STATEMENT_TIMEOUT": seconds(16)}, ["W018"]),
        ({"STATEMENT_TIMEOUT": seconds(15)}, []),
        ({"RETENTION": timedelta(hours=23)}, ["E016"]),
        ({"RETENTION": timedelta(hours=24)}, []),
        ({"RETENTION_BATCH": 0}, ["E017"]),
        ({"BATCH": -1}, ["E017"]),
        ({"MAX_REQUEST_BYTES": 0}, ["E017"]),
        ({"LEASE": 30}, ["E018"]),
        ({"RETENTION": "30 days"}, ["E018"]),
        ({"BATCH": 1.5, "HEADERS": "ETag"}, ["E018"] * 2),
        ({"HEADERS": ["ETag"]}, []),
    ],
    ids=str,
)
def test_values_are_of_their_kind_large_enough_and_in_order(
    settings: Any, given: dict[str, Any], said: list[str]
) -> None:
    settings.IDEMPOTENCY = given
    assert ids(check_limits) == said


def test_other_checks_do_not_stumble_over_a_value_of_the_wrong_kind(settings: Any) -> None:
    settings.IDEMPOTENCY = {"LEASE": 30, "MARGIN": "5", "CACHE": None}
    assert ids(check_settings) == []
