"""The Ledgerline service: a small bank on top of the apps `idempotency` and `fulfilment`."""

from ledgerline.celery import app as celery_app  # so that every process publishes to our broker

__all__ = ["celery_app"]
