"""The service's own tasks. As all tasks here: started by a hint, decided by rows, never retried."""

from celery import shared_task

from idempotency import sweeps


@shared_task(name="idempotency.recover", ignore_result=True, max_retries=0)
def recover() -> None:
    """Free what sent nothing, and ask what became of calls whose requests came to no end."""
    sweeps.release_abandoned()
    sweeps.recover_due()
