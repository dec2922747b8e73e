"""One running demo for all acceptance tests: the real thing, started as a newcomer starts it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from ledgerline.demo import placement
from ledgerline.demo.check import system as running

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo's folder and process; `facts` is re-read, because killed processes come back."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def facts(self) -> dict[str, Any]:
        return json.loads((self.folder / "demo.json").read_text())

    @property
    def system(self) -> running.System:
        return running.load(self.folder)

    def children(self, role: str) -> list[psutil.Process]:
        """The processes that do the work of a role: those below its first process."""
        return [child for pid in self.facts["pids"][role] for child in _family(pid)[1:]]


@pytest.fixture(scope="package")  # it ends with these tests: it costs the others time
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("demo", numbered=True) / "run"
    log = folder.with_suffix(".log")
    command = [
        sys.executable,
        "manage.py",
        "demo",
        "--folder",
        str(folder),
        "--port",
        "0",
        "--still",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=_clean(), stdout=output, stderr=output)
    try:
        _wait_until_ready(process, folder, log)
        yield Demo(folder, process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        placement.discard(folder / "postgres")


@pytest.fixture
def system(demo: Demo) -> running.System:
    return demo.system


def _clean() -> dict[str, str]:
    """The demo brings its own servers and settings, not those of the test run."""
    ours = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "DJANGO_SETTINGS_MODULE")
    return {name: value for name, value in os.environ.items() if name not in ours}


def _wait_until_ready(process: subprocess.Popen[bytes], folder: Path, log: Path) -> None:
    deadline = time.monotonic() + 180
    while not (folder / "demo.json").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"the demo did not start:\n{log.read_text()[-3000:]}")
        time.sleep(0.2)


def _family(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
