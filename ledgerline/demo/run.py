"""`make demo`, from the first check to the last process ended."""

import itertools
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import (
    embedded,
    environment,
    given,
    interrupts,
    lock,
    oracle,
    placement,
    prepare,
    processes,
    report,
)
from .embedded import Servers
from .errors import DemoError
from .interrupts import Stopped
from .report import Facts
from .story import Story
from .watch import Watch

LOOK_EVERY = 0.25  # seconds
NEWS_EVERY = 4  # looks
# What is started where the environment does not give it.
SERVERS = {
    "DATABASE_URL": "PostgreSQL",
    "REDIS_URL": "a Valkey for the cache",
    "CELERY_BROKER_URL": "a Valkey for the queue",
}
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Choices:
    """What the person who starts the demo may choose."""

    port: int | None = None  # None: 8000 or a free one; 0: a free one
    still: bool = False  # without the simulator: nothing happens by itself


def run(folder: Path, *, choices: Choices, say: Say) -> None:
    """Run the demo until it is told to stop; nothing that it started outlives it.

    Raises:
        DemoError: something is missing or taken; the sentence says what to do.
    """
    folder = _made(folder)
    interrupts.raise_stopped()
    try:
        with lock.held(folder):
            report.remove(folder)
            given.check()
            with lock.of_database(given.urls().get("DATABASE_URL", "")):
                _with_servers(folder, choices, say)
    except Stopped:
        say("Stopped. The data stay for the next start.")


def _with_servers(folder: Path, choices: Choices, say: Say) -> None:
    _forget_old_logs(folder)
    if names := [SERVERS[name] for name in embedded.missing()]:
        say(f"Starting {' and '.join(names)} ...")
    servers = embedded.start(folder)
    try:
        if place := placement.elsewhere(folder / "postgres"):
            say(f"PostgreSQL's data lie in {place}: its account cannot enter {folder}.")
            say(f"To remove all of it after the demo: rm -r {place} {folder}")
        _run(servers, folder, choices, say)
    finally:
        interrupts.ignore()
        say("Stopping ...")
        report.remove(folder)
        servers.stop()


def _run(servers: Servers, folder: Path, choices: Choices, say: Say) -> None:
    keys = environment.secrets_of(folder)
    urls = given.urls() | dict(servers.urls())
    settings = environment.for_processes(urls, keys, sandbox_url="")
    settings["TMPDIR"] = str(_emptied(folder / "tmp"))
    with processes.listening_socket(choices.port) as listener:
        say("Laying out the database and its first customers ...")
        seeded = prepare.in_a_process(settings)
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        books = folder / oracle.books_name(urls["DATABASE_URL"])
        events = {"SANDBOX_WEBHOOK_URL": f"{base_url}/v1/webhooks/sandbox"}
        sandbox_url = processes.start_provider(servers.children, folder, books, settings | events)
        settings["SANDBOX_URL"] = sandbox_url
        say("Starting web server, worker and beat ...")
        processes.start_service(servers.children, folder, settings, listener)
        if not choices.still:
            processes.start_simulator(servers.children, folder, settings)
        facts = Facts(base_url, sandbox_url, urls, seeded["users"], seeded["staff"], keys)
        _watch(servers, folder, facts, say)


def _watch(servers: Servers, folder: Path, facts: Facts, say: Say) -> None:
    watch, story = Watch(servers.children), Story(facts.urls["DATABASE_URL"])
    pids = _pids(servers)
    report.write(folder, facts, pids)
    say(report.welcome(facts, folder))
    for look in itertools.count():
        news = story.news() if look % NEWS_EVERY == 0 else []
        for line in [*watch.look(), *news]:
            say(f"{time.strftime('%H:%M:%S')}  {line}")
        if (current := _pids(servers)) != pids:
            pids = current
            report.write(folder, facts, pids)
        time.sleep(LOOK_EVERY)


def _pids(servers: Servers) -> dict[str, list[int]]:
    return servers.pids() | {"demo": [os.getpid()]}


def _made(folder: Path) -> Path:
    folder = folder.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Private; as root, PostgreSQL runs as another account, which has to get through.
        folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    except OSError as error:
        raise DemoError(
            f"The folder {folder} cannot be used: {error.strerror}.",
            "Name one that you may write to: make demo ARGS='--folder /path/to/it'.",
        ) from error
    return folder


def _emptied(folder: Path) -> Path:
    """For temporary files: those of processes that were killed go with the next start."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    return folder


def _forget_old_logs(folder: Path) -> None:
    for log in folder.glob("*.log"):
        log.unlink()
