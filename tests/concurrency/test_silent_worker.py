"""A process that does the rounds and stops, alive but deaf, is seen by its silence."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from fulfilment import health
from tests.connectors.sandbox import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


@pytest.fixture
def sweeps() -> Iterator[subprocess.Popen[bytes]]:
    database = connection.settings_dict
    url = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
    environment = os.environ | {
        "DATABASE_URL": f"postgresql://{database['USER']}:{database['PASSWORD']}@{url}",
        "FULFILMENT_POLL_INTERVAL": "0.2",
    }
    command = [sys.executable, "manage.py", "run_sweeps"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait(timeout=20)


def troubles() -> set[str]:
    return {each.name for each in health.now().troubles}


def test_a_frozen_process_turns_the_machine_red_and_green_again_when_it_wakes_up(
    settings: Any, sweeps: subprocess.Popen[bytes]
) -> None:
    rounds = ("sweep", "look_up", "apply", "dispatch")
    limits = {f"since_{name}": timedelta(seconds=2) for name in rounds}
    settings.FULFILMENT = settings.FULFILMENT | {"HEALTH": limits}
    until(lambda: not troubles(), what="the rounds to begin", seconds=30)
    sweeps.send_signal(signal.SIGSTOP)
    until(
        lambda: troubles() == set(limits),
        what="the silence to be noticed: its process is there, and does nothing",
        seconds=15,
    )
    sweeps.send_signal(signal.SIGCONT)
    until(lambda: not troubles(), what="the machine to be healthy again", seconds=15)
