"""One round of everything that must happen without a message: what beat or `run_sweeps` starts.

Each round that came to its end leaves a sign of life (`fulfilment.health`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from fulfilment import store
from fulfilment.dispatch import attempt, poll, sweep
from fulfilment.reconcile import lookups
from fulfilment.webhooks import applying, mailbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """How many rows each part of a round worked on."""

    swept: int
    asked: int
    fetched: int
    applied: int
    dispatched: int


def whole_round() -> Round:
    """Everything that is due, in this order, here and now: it needs no broker."""
    return Round(
        swept=sweep_round(),
        asked=look_up_round(),
        fetched=mailbox_round(),
        applied=apply_round(),
        dispatched=dispatch_round(),
    )


def heard_beat() -> None:
    """A tick arrived: whatever becomes of its round, beat lives."""
    store.pulse("beat")


def sweep_round() -> int:
    """Take back what dead workers held, and ask people about what waits too long."""
    done = sweep.sweep() + sweep.open_cases_for_waiting()
    store.pulse("sweep")
    return done


def look_up_round() -> int:
    """Make the look-ups that are due."""
    return lookups.look_up_due()


def mailbox_round() -> int:
    """Fetch the messages of providers that send none by themselves."""
    return mailbox.fetch_due()


def apply_round() -> int:
    """Apply the events of which no worker heard, and those that wait for what they are about."""
    done = applying.apply_due()
    store.pulse("apply")
    return done


def dispatch_round(send: Callable[[int], object] = attempt.run) -> int:
    """Hand every due row to `send`: here and now, or as a hint to a worker."""
    ids = poll.due()
    for pk in ids:
        send(pk)
    store.pulse("dispatch")
    return len(ids)
