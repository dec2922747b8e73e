"""How much is tried: the same few examples in every run, and with PROVE=<n> n times as many at random."""

import os

from hypothesis import HealthCheck, Phase, settings

_TIMES = int(os.environ.get("PROVE", "0"))


def some(*, examples: int, steps: int = 1, shrink: bool = True) -> settings:
    """Settings for so many examples of so many steps each; a slow one is shown as it was found."""
    phases = (Phase.explicit, Phase.generate, *([Phase.shrink] if shrink else []))
    return settings(
        max_examples=examples * max(1, _TIMES),
        stateful_step_count=steps,
        derandomize=_TIMES == 0,
        phases=phases,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )
