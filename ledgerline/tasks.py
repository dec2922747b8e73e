"""The service's own tasks. As all tasks here: started by a hint, decided by rows, never retried."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from idempotency import gate, locks, retention, sweeps
from ledgerline.bank import closing

# The same worker asks about payments: it must not be busy all night with what is not urgent.
_RETIRE_WITHIN = timedelta(minutes=10)


@shared_task(name="idempotency.recover", ignore_result=True, max_retries=0)
def recover() -> None:
    """Free what sent nothing, ask what became of calls without an end, hold actions without one.

    One round at a time, because a second one would ask the same; the rows decide without it, too.
    """
    with locks.held("idempotency.recover", ttl=settings.POLL_INTERVAL) as lock:
        if lock.busy:
            return
        for step in (sweeps.release_abandoned, gate.hold_expired, sweeps.recover_due):
            step()
            lock.extend()


@shared_task(name="idempotency.retire", ignore_result=True, max_retries=0)
def retire() -> None:
    """Delete answers of long ago. What is left when its time is over goes the next night."""
    with locks.held("idempotency.retire", ttl=_RETIRE_WITHIN) as lock:
        if not lock.busy:
            retention.retire(within=_RETIRE_WITHIN)


@shared_task(name="bank.close_day", ignore_result=True, max_retries=0)
def close_day() -> None:
    """Close yesterday, once the books are right. Two beats, or a tick after it, change nothing."""
    closing.close_day(closing.yesterday())
