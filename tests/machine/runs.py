"""How much is tried: the same few examples in every run, and with PROVE=<n> n times as many at random."""

import os

from hypothesis import HealthCheck, settings

_TIMES = int(os.environ.get("PROVE", "0"))


def some(*, examples: int, steps: int = 1) -> settings:
    """Settings for so many examples of so many steps each."""
    return settings(
        max_examples=examples * max(1, _TIMES),
        stateful_step_count=steps,
        derandomize=_TIMES == 0,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )
