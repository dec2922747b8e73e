"""`manage.py demo_check`: tells the demo's stories to the running system and prints what it saw."""

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ledgerline.demo.check.stories import ACTS, STORIES, Story
from ledgerline.demo.check.system import NoDemo, System, load


class Command(BaseCommand):
    help = "Checks the running demo: exits 0 only if every story ended as it must."
    requires_system_checks: list[str] = []  # it only talks to a running system

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--folder", type=Path, default=settings.BASE_DIR / ".demo", help="where demo.json lies"
        )
        letters = [_letter(story) for story in STORIES]
        parser.add_argument(
            "--story", action="append", choices=letters, help="only this one; may be repeated"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            system = load(options["folder"])
        except NoDemo as error:
            raise CommandError(str(error)) from error
        wanted = options["story"]
        acts = [[s for s in act if wanted is None or _letter(s) in wanted] for act in ACTS]
        endings = [ending for act in acts if act for ending in self._told(act, system)]
        if not all(endings):
            raise CommandError(f"{endings.count(False)} of {len(endings)} stories ended wrong.")
        self.stdout.write(f"All {len(endings)} stories ended as they must.")

    def _told(self, act: Sequence[Story], system: System) -> Iterator[bool]:
        """Whether each story of the act ended as it must; told at once, written in order."""
        with ThreadPoolExecutor(len(act)) as tellers:
            for line, well in tellers.map(lambda story: _ending(story, system), act):
                self.stdout.write(line)
                yield well


def _ending(story: Story, system: System) -> tuple[str, bool]:
    started = time.monotonic()
    try:
        saw, well = story.tell(system), True
    except Exception as error:  # noqa: BLE001  # whatever breaks a story is its result
        saw, well = f"{error}" or repr(error), False
    took = time.monotonic() - started
    return f"{story.name:<26} {'ok' if well else 'FAILED':<7} {took:5.1f} s  {saw}", well


def _letter(story: Story) -> str:
    return story.name.split()[0]
