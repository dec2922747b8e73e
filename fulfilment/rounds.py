"""One round of everything that must happen without a message: what beat or `run_sweeps` starts."""

from collections.abc import Callable

from fulfilment.dispatch import attempt, poll, sweep
from fulfilment.reconcile import lookups
from fulfilment.webhooks import applying


def sweep_round() -> int:
    """Take back what dead workers held, and ask people about what waits too long."""
    return sweep.sweep() + sweep.open_cases_for_waiting()


def look_up_round() -> int:
    """Make the look-ups that are due."""
    return lookups.look_up_due()


def apply_round() -> int:
    """Apply the events of which no worker heard, and those that wait for what they are about."""
    return applying.apply_due()


def dispatch_round(send: Callable[[int], object] = attempt.run) -> int:
    """Hand every due row to `send`: here and now, or as a hint to a worker."""
    ids = poll.due()
    for pk in ids:
        send(pk)
    return len(ids)
