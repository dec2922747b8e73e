"""The service's own tasks. As all tasks here: started by a hint, decided by rows, never retried."""

from celery import shared_task

from idempotency import sweeps


@shared_task(name="idempotency.recover", ignore_result=True, max_retries=0)
def recover() -> None:
    """Ask what became of calls whose requests came to no end."""
    sweeps.recover_due()
