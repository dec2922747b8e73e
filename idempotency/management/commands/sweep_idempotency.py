"""`manage.py sweep_idempotency [--every SECONDS]`: what beat would start, without a broker."""

import logging
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import close_old_connections

from idempotency import sweeps

log = logging.getLogger("idempotency")


class Command(BaseCommand):
    """One sweep, or one after the other for as long as it runs."""

    help = (
        "Free the keys of requests that died early; ask what became of calls that came to no end."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--every", type=float, metavar="SECONDS", help="go on, with this pause between sweeps"
        )

    def handle(self, *args: Any, every: float | None, **options: Any) -> None:
        if every is None:
            self._sweep()
            return
        while True:
            try:
                self._sweep()
            except Exception:
                # A database that restarts must not end what nobody else does.
                log.exception("sweep failed", extra={"action": "sweep_failed"})
            close_old_connections()
            time.sleep(every)

    def _sweep(self) -> None:
        self.stdout.write(f"freed {sweeps.release_abandoned()}")
        self.stdout.write(f"asked about {sweeps.recover_due()}")
