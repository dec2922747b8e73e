"""`manage.py restock 2026-11-30`: fills the shelves once a day, however often cron starts it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import F

from idempotency import gated
from shop.models import Item


class Command(BaseCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("day")

    # atomic: the claim, the block and its result commit together, or none of them
    @gated("shelves.restock", target="options.day", atomic=True)
    def handle(self, *args: Any, **options: Any) -> str:
        items = Item.objects.update(left=F("left") + 10)
        return f"{items} items restocked"
