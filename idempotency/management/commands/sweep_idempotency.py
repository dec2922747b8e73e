"""`manage.py sweep_idempotency`: all that must happen to keys without a request, without a broker.

sweep_idempotency                       one sweep
sweep_idempotency --every 5             one after the other, five seconds apart
sweep_idempotency --only retention      clean up and nothing else
sweep_idempotency --dry-run             say how many rows a clean-up would delete
"""

import logging
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections

from idempotency import gate, retention, sweeps

log = logging.getLogger("idempotency")

Step = Callable[["Command"], str]


class Command(BaseCommand):
    """One sweep, or one after the other for as long as it runs."""

    help = (
        "Free the keys of requests that died early, ask what became of calls that came to no end, "
        "hold actions that nobody finished, and delete answers of long ago."
    )
    verbosity = 1

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--every", type=float, metavar="SECONDS", help="go on, with this pause between sweeps"
        )
        parser.add_argument(
            "--only", choices=STEPS, action="append", help="this step alone; may be repeated"
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="say what a clean-up would delete, change nothing",
        )

    def handle(
        self,
        *args: Any,
        every: float | None,
        only: list[str] | None,
        dry_run: bool,
        verbosity: int = 1,
        **options: Any,
    ) -> None:
        if dry_run:
            self.stdout.write(f"would delete {retention.due()}")
            return
        self.verbosity = verbosity
        sweep = partial(self._sweep, only or STEPS)
        if every is None:
            if failed := sweep():
                raise CommandError(f"{', '.join(failed)} failed; the log says why.")
            return
        while True:
            sweep()
            close_old_connections()  # past CONN_MAX_AGE, as a request would
            time.sleep(every)

    def _sweep(self, names: Iterable[str]) -> list[str]:
        """Every step, whatever becomes of the others; the names of those that failed."""
        said, failed = [], []
        for name in names:
            try:
                said.append(STEPS[name](self))
            except Exception:  # a database that restarts must not end what nobody else does
                log.exception("sweep failed", extra={"action": "sweep_failed", "step": name})
                close_old_connections()  # the next step must not inherit a broken one
                failed.append(name)
        if self.verbosity:
            self.stdout.write(", ".join(said))
        return failed

    def retired(self, total: int) -> None:
        """Progress of a clean-up, with --verbosity 2."""
        if self.verbosity > 1:
            self.stdout.write(f"deleted {total} so far")
            self.stdout.flush()


STEPS: dict[str, Step] = {
    "abandoned": lambda _: f"freed {sweeps.release_abandoned()}",
    "recovery": lambda _: f"asked about {sweeps.recover_due()}",
    "actions": lambda _: f"held {gate.hold_expired()}",
    "retention": lambda command: f"deleted {retention.retire(told=command.retired)}",
}
