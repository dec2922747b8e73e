"""`manage.py close_day [DAY]`: check the books and close a day; closed already, say what was noted."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from idempotency.gate import NotClaimed
from ledgerline.bank import closing
from ledgerline.bank.errors import BooksRefused


class Command(BaseCommand):
    """What beat does every night, by hand."""

    help = "Check all books and close a day in UTC, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("day", nargs="?", help="as 2026-11-29; left out: yesterday")

    def handle(self, *args: Any, day: str | None, **options: Any) -> None:
        try:
            closed = closing.close_day(day or closing.yesterday())
        except (BooksRefused, NotClaimed, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(closed))
