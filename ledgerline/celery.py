"""Celery carries hints. A lost, late or doubled message changes nothing: rows decide."""

import os

from celery import Celery
from celery.signals import beat_init, worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ledgerline.settings")

app = Celery("ledgerline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
@beat_init.connect
def _stop_on_errors(**_: object) -> None:
    """Worker and beat do not start with settings that the system checks refuse."""
    from ledgerline import checks  # not before the apps are ready

    checks.stop_on_errors()
