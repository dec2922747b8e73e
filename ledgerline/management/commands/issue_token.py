"""`manage.py issue_token <username>`: a bearer token for the API, on standard output."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledgerline import tokens
from ledgerline.bank.models import User

_LONGEST = timedelta(days=366)


class Command(BaseCommand):
    """Prints the token and nothing else, so that a shell can capture it."""

    help = "Print a bearer token for the API that speaks for this user."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--lifetime", type=float, metavar="SECONDS", help="default: the setting TOKEN_LIFETIME"
        )

    def handle(self, *args: Any, username: str, lifetime: float | None, **options: Any) -> None:
        self.stdout.write(tokens.issue(_user(username), lifetime=_duration(lifetime)))


def _user(username: str) -> User:
    try:
        user = User.objects.get_by_natural_key(username)
    except User.DoesNotExist:
        raise CommandError(
            f"There is no user {username!r}. `manage.py createsuperuser` makes one for staff; "
            "the demo's customers are made by its seed."
        ) from None
    if not user.is_active:
        raise CommandError(f"The user {username!r} is not active, so nobody may speak for them.")
    return user


def _duration(seconds: float | None) -> timedelta | None:
    if seconds is None:
        return None
    if not 1 <= seconds <= _LONGEST.total_seconds():
        raise CommandError(
            f"--lifetime is {seconds:g}; it must be from 1 to {_LONGEST.total_seconds():.0f} seconds."
        )
    return timedelta(seconds=seconds)
