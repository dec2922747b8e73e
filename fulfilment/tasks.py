"""The tasks: hints carried by Celery. A lost, late or doubled message changes nothing.

No task is ever retried by Celery: a retry around a call to a provider would be a blind second
call. What was not done is found again by the next round.
"""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from celery import current_app, shared_task
from kombu.exceptions import OperationalError
from kombu.pools import producers

from fulfilment import retention, rounds
from fulfilment.conf import conf
from fulfilment.dispatch import attempt
from fulfilment.webhooks import applying
from idempotency import locks

log = logging.getLogger(__name__)

# How long nothing is published after the broker was not there. A payment's answer waits for the
# publishing, so a dead broker may cost a short time-out once in a while and not every time.
QUIET_FOR = 5.0
# Of connecting and of each answer of the broker; both fit into the promised second.
BROKER_TIMEOUT = 0.4

# The same worker asks about payments: it must not be busy all night with what is not urgent.
RETIRE_WITHIN = timedelta(minutes=10)

_quiet_until = 0.0


@shared_task(name="fulfilment.dispatch", ignore_result=True, max_retries=0)
def dispatch(fulfilment_id: int) -> None:
    """Send the effect of one row, if it is due and free."""
    attempt.run(fulfilment_id)


@shared_task(name="fulfilment.poll", ignore_result=True, max_retries=0)
def poll() -> None:
    """Tell workers of due rows of which they may not have heard. The tick that says: beat lives."""
    rounds.heard_beat()
    _alone("fulfilment.poll", lambda: rounds.dispatch_round(hint))


@shared_task(name="fulfilment.sweep", ignore_result=True, max_retries=0)
def sweep() -> None:
    """Take back what dead workers held."""
    _alone("fulfilment.sweep", rounds.sweep_round)


@shared_task(name="fulfilment.look_up", ignore_result=True, max_retries=0)
def look_up() -> None:
    """Make the look-ups that are due."""
    rounds.look_up_round()


@shared_task(name="fulfilment.fetch", ignore_result=True, max_retries=0)
def fetch() -> None:
    """Fetch the messages of providers that send none by themselves."""
    rounds.mailbox_round()


@shared_task(name="fulfilment.apply_event", ignore_result=True, max_retries=0)
def apply_event(event_id: int) -> None:
    """Apply one event of a provider, if it waits and is due."""
    applying.apply(event_id)


@shared_task(name="fulfilment.apply_due", ignore_result=True, max_retries=0)
def apply_due() -> None:
    """Apply the events of which no worker heard, and those that wait."""
    _alone("fulfilment.apply_due", rounds.apply_round)


@shared_task(name="fulfilment.retire", ignore_result=True, max_retries=0)
def retire() -> None:
    """Take old bodies away. What is left when its time is over goes the next night."""
    with locks.held("fulfilment.retire", ttl=RETIRE_WITHIN) as lock:
        if not lock.busy:
            retention.retire(within=RETIRE_WITHIN)


def hint(fulfilment_id: int) -> None:
    """Publish `dispatch` for a row; the poller finds it if nobody hears."""
    _publish(dispatch, fulfilment_id)


def hint_event(event_id: int) -> None:
    """Publish `apply_event` for an event; the poller finds it if nobody hears."""
    _publish(apply_event, event_id)


def _alone(name: str, work: Callable[[], object]) -> None:
    """One round of a kind at a time: a second beat, or a tick during a long round, finds it at work.

    It saves work and decides nothing, so a lock that expires or a Redis that is gone changes
    nothing. No longer than the distance of two ticks: a dead worker costs one tick at most. (The
    look-ups have a lock of the database's: that one keeps a budget.)
    """
    with locks.held(name, ttl=conf().poll_interval) as lock:
        if not lock.busy:
            work()


def _publish(task: Any, subject: int) -> None:
    """A broker that is down costs about a second at most, once per `QUIET_FOR`."""
    global _quiet_until  # per process, like the connection
    if time.monotonic() < _quiet_until:
        return
    connection = current_app.connection_for_write(transport_options=_impatient())
    try:
        # The pool belongs to these options: a hint never waits as long as a worker may.
        with producers[connection].acquire(block=True, timeout=BROKER_TIMEOUT) as producer:
            # The poller repeats it, so an old hint is not worth keeping: behind a slow provider the
            # queue would only grow.
            stale = 3 * conf().poll_interval.total_seconds()
            task.apply_async((subject,), producer=producer, retry=False, expires=stale)
    except (OperationalError, OSError) as error:
        _quiet_until = time.monotonic() + QUIET_FOR
        log.warning(
            "hint lost: the broker is not there",
            extra={"action": "hint_lost", "error": type(error).__name__},
        )


def _impatient() -> dict[str, Any]:
    return {
        **current_app.conf.broker_transport_options,
        "socket_connect_timeout": BROKER_TIMEOUT,
        "socket_timeout": BROKER_TIMEOUT,
        "max_retries": 0,
    }
