"""`manage.py demo`: Ledgerline on real parts, in the foreground, until Ctrl-C."""

import contextlib
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from ledgerline.demo.errors import DemoError
from ledgerline.demo.run import Choices, run


class Command(BaseCommand):
    help = (
        "Runs PostgreSQL, Valkey, provider, web server, worker and beat until Ctrl-C. Servers named by"
        " DATABASE_URL, REDIS_URL or CELERY_BROKER_URL are used instead of embedded ones."
    )
    requires_system_checks: list[str] = []  # its database does not run yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port",
            type=int,
            help="of the web server; 8000 or a free one if not given, 0: a free one",
        )
        parser.add_argument(
            "--folder", type=Path, default=settings.BASE_DIR / ".demo", help="data, logs, demo.json"
        )

        parser.add_argument(
            "--still", action="store_true", help="no simulator: nothing happens by itself"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        choices = Choices(port=options["port"], still=options["still"])
        try:
            run(options["folder"], choices=choices, say=self._say)
        except DemoError as error:
            self.stderr.write(str(error))
            sys.exit(2)

    def _say(self, sentence: str) -> None:
        with contextlib.suppress(
            OSError
        ):  # the terminal may be gone; the demo still has to end well
            self.stdout.write(sentence)
            self.stdout.flush()
