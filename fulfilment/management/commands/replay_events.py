"""`manage.py replay_events`: after a fix, apply again what was parked or given up."""

from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet
from django.utils import timezone

from fulfilment.errors import FulfilmentError
from fulfilment.models import EventStatus, ProviderEvent
from fulfilment.webhooks import replays

_BATCH = 500


class Command(BaseCommand):
    """One by one, oldest first, by the same rules as ever; what is set aside stays aside."""

    help = "Apply again the events that are parked or given up. Each has its effect once, as ever."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--provider", help="of this provider only, as WEBHOOKS names it")
        parser.add_argument("--type", help="of this type only")
        parser.add_argument("--since", type=_moment, help="that came since then: 2026-11-30T14:00Z")
        parser.add_argument("--dead", action="store_true", help="only what was given up")
        parser.add_argument(
            "--ignored", action="store_true", help="instead: what was of no use, with --type"
        )
        parser.add_argument("--note", default="", help="why, for the record (255 characters)")
        parser.add_argument("--dry-run", action="store_true", help="say how many, and apply none")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["ignored"] and not options["type"]:
            raise CommandError("--ignored needs --type: most types are of no use here.")
        chosen = _chosen(options)
        if options["dry_run"]:
            self.stdout.write(f"{chosen.count()} events would be applied again")
            return
        ends = Counter(_applied_again(pk, options["note"][:255]) for pk in _ids(chosen))
        told = ", ".join(f"{word} {count}" for word, count in sorted(ends.items()))
        self.stdout.write(told or "no event fits what you chose")


def _chosen(options: dict[str, Any]) -> QuerySet[ProviderEvent]:
    named = {"provider": "provider", "type": "type", "since": "received_at__gte"}
    given = {field: options[name] for name, field in named.items() if options[name]}
    return ProviderEvent.objects.filter(status__in=_statuses(options), **given)


def _statuses(options: dict[str, Any]) -> tuple[str, ...]:
    if options["ignored"]:
        return (EventStatus.IGNORED,)
    if options["dead"]:
        return (EventStatus.DEAD,)
    return (EventStatus.PARKED, EventStatus.DEAD)


def _ids(chosen: QuerySet[ProviderEvent]) -> Iterator[int]:
    """Each once, by its number: what is applied again and parked again is not met a second time."""
    last = 0
    while ids := list(
        chosen.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:_BATCH]
    ):
        yield from ids
        last = ids[-1]


def _applied_again(pk: int, note: str) -> str:
    """What became of it, in a word. One that cannot be applied does not keep the others."""
    try:
        return replays.replay_by_command(pk, note=note).status
    except FulfilmentError as error:
        return error.code


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("a moment is written as 2026-11-30 or 2026-11-30T14:00Z") from None
    return moment if moment.tzinfo else timezone.make_aware(moment)
