"""Celery carries hints. A lost, late or doubled message changes nothing: rows decide."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ledgerline.settings")

app = Celery("ledgerline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
