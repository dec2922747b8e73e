"""Celery carries hints. A lost, late or doubled message changes nothing: rows decide."""

import os

from celery import Celery
from celery.schedules import crontab
from celery.signals import beat_init, worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ledgerline.settings")

app = Celery("ledgerline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_configure.connect
def _every_night(sender: Celery, **_: object) -> None:
    """The clean-ups, once a day in UTC. A hint that waited for hours is dropped: so would be two."""
    for name, minute in (("idempotency.retire", "17"), ("fulfilment.retire", "37")):
        sender.add_periodic_task(
            crontab(hour="3", minute=minute), sender.signature(name), name=name, expires=3600
        )


@app.on_after_configure.connect
def _every_hour(sender: Celery, **_: object) -> None:
    """Yesterday is closed by the first tick that finds the books right; the others find it closed."""
    sender.add_periodic_task(
        crontab(minute="7"), sender.signature("bank.close_day"), name="bank.close_day", expires=1800
    )


@worker_init.connect
@beat_init.connect
def _stop_on_errors(**_: object) -> None:
    """Worker and beat do not start with settings that the system checks refuse."""
    from ledgerline import checks  # not before the apps are ready

    checks.stop_on_errors()
