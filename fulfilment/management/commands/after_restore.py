"""`manage.py after_restore`: after a restored backup, or a failover that lost commits."""

from argparse import ArgumentParser
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError

from fulfilment.dispatch import restored as dispatch
from fulfilment.webhooks import seen
from idempotency import restored
from idempotency.management.commands.idempotency_after_restore import confirmed
from idempotency.restored import Step

_CONSEQUENCE = (
    "Every payment that waits or is being sent is taken back until its provider was asked, and every "
    "single-use token becomes worthless."
)


class Command(BaseCommand):
    """Nothing of what the lost commits led to is believed, and nothing is sent before it is asked about."""

    help = (
        "Run this after restoring a backup, or after a failover that lost commits. Stop web servers "
        "and workers before, and start them afterwards: it may run beside them, but what they send "
        "before it ran may be sent twice. It forgets cached answers and known events, voids "
        "single-use tokens, and takes every pending or dispatching payment into reconciliation, "
        "where it counts as sent. Safe to run twice."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, yes: bool, **options: Any) -> None:
        if not yes:
            confirmed(_CONSEQUENCE)
        steps = [restored.step("Known events forgotten", seen.forget_all), *_keys()]
        for taken in steps:
            self.stdout.write(taken.said)
        done = dispatch.doubt_all()
        self.stdout.write(
            f"Payments that may have been sent since: {done.pending} pending, "
            f"{done.dispatching} dispatching; {done.waiting} waited already"
        )
        if done.failed:
            self.stdout.write(f"Payments that could not be taken back: {done.failed}")
        if done.failed or any(taken.failed for taken in steps):
            raise CommandError("Not everything was done; the log says why. Run it again.")


def _keys() -> list[Step]:
    """What `idempotency` has to do, where it is installed."""
    return restored.recover() if apps.is_installed("idempotency") else []
