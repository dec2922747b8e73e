"""The service's own tasks. As all tasks here: started by a hint, decided by rows, never retried."""

from datetime import timedelta

from celery import shared_task

from idempotency import gate, retention, sweeps

# The same worker asks about payments: it must not be busy all night with what is not urgent.
_RETIRE_WITHIN = timedelta(minutes=10)


@shared_task(name="idempotency.recover", ignore_result=True, max_retries=0)
def recover() -> None:
    """Free what sent nothing, ask what became of calls without an end, hold actions without one."""
    sweeps.release_abandoned()
    gate.hold_expired()
    sweeps.recover_due()


@shared_task(name="idempotency.retire", ignore_result=True, max_retries=0)
def retire() -> None:
    """Delete answers of long ago. What is left when its time is over goes the next night."""
    retention.retire(within=_RETIRE_WITHIN)
