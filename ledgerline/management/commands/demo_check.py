"""`manage.py demo_check`: tells the demo's stories to the running system and prints what it saw."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ledgerline.demo.check.stories import STORIES, Story
from ledgerline.demo.check.system import NoDemo, System, load


class Command(BaseCommand):
    help = "Checks the running demo: exits 0 only if every story ended as it must."
    requires_system_checks: list[str] = []  # it only talks to a running system

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--folder", type=Path, default=settings.BASE_DIR / ".demo", help="where demo.json lies"
        )
        letters = [story.name.split()[0] for story in STORIES]
        parser.add_argument(
            "--story", action="append", choices=letters, help="only this one; may be repeated"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            system = load(options["folder"])
        except NoDemo as error:
            raise CommandError(str(error)) from error
        wanted = options["story"]
        stories = [s for s in STORIES if wanted is None or s.name.split()[0] in wanted]
        failures = [story.name for story in stories if not self._told(story, system)]
        if failures:
            raise CommandError(f"{len(failures)} of {len(stories)} stories ended wrong.")
        self.stdout.write(f"All {len(stories)} stories ended as they must.")

    def _told(self, story: Story, system: System) -> bool:
        started = time.monotonic()
        try:
            saw, verdict = story.tell(system), "ok"
        except Exception as error:  # noqa: BLE001  # whatever breaks a story is its result
            saw, verdict = f"{error}" or repr(error), "FAILED"
        self.stdout.write(
            f"{story.name:<26} {verdict:<7} {time.monotonic() - started:5.1f} s  {saw}"
        )
        return verdict == "ok"
