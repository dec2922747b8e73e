"""`manage.py idempotency_after_restore`: after a restored backup, or a failover that lost commits."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from idempotency import restored


class Command(BaseCommand):
    """Nothing of what the lost commits led to is believed any more."""

    help = (
        "Run this after restoring a backup, before web servers and workers start: it forgets cached "
        "answers and voids single-use tokens, and lets every request that was in progress be asked "
        "about before it runs again. Safe to run twice. Where `fulfilment` is installed, run "
        "after_restore instead: it does this, too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, yes: bool, **options: Any) -> None:
        if not yes:
            confirmed("Every single-use token that was issued becomes worthless.")
        steps = restored.recover()
        for taken in steps:
            self.stdout.write(taken.said)
        if any(taken.failed for taken in steps):
            raise CommandError("Not everything was done; the log says why. Run it again.")


def confirmed(consequence: str) -> None:
    """Ask whoever sits there. Raises CommandError without a clear yes."""
    try:
        answer = input(f"{consequence} Type “yes” to go on: ")
    except EOFError:
        answer = ""
    if answer.strip() != "yes":
        raise CommandError("Nothing was changed. (--yes goes on without asking.)")
