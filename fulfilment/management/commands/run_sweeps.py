"""`manage.py run_sweeps [--once]`: everything beat would start, without a broker."""

import logging
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import close_old_connections

from fulfilment import rounds
from fulfilment.conf import conf

log = logging.getLogger(__name__)


class Command(BaseCommand):
    """Sweeps, look-ups, events and dispatch in one process, for as long as it runs."""

    help = "Sweep, look up, apply events and dispatch without a broker, every poll interval."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="one round, then end")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        if once:
            self._round()
            return
        while True:
            try:
                self._round()
            except Exception:
                # A database that restarts must not end the last thing that still works.
                log.exception("round failed", extra={"action": "round_failed"})
            close_old_connections()
            time.sleep(conf().poll_interval.total_seconds())

    def _round(self) -> None:
        done = rounds.whole_round()
        self.stdout.write(
            f"swept {done.swept}, asked about {done.asked}, fetched {done.fetched}, applied {done.applied}, "
            f"dispatched {done.dispatched}"
        )
