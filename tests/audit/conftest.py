"""The projects that are audited, each in a server process of its own with an empty database."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests import databases
from tests.audit.peers.common import TABLE

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Peer:
    """One running project."""

    url: str
    database: str

    def payments(self) -> list[tuple[str, int]]:
        """Its own books: owner and amount of everything that was paid."""
        with psycopg.connect(self.database) as connection:
            return connection.execute("SELECT owner, amount FROM payment ORDER BY id").fetchall()


Serve = Callable[[str], Peer]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start the project of that name; it ends with the test, and its database with it."""
    stack = ExitStack()

    def start(name: str) -> Peer:
        database = stack.enter_context(databases.created())
        with psycopg.connect(database) as connection:
            connection.execute(TABLE)
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        port = listener.getsockname()[1]
        with (tmp_path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                _command(name, listener.fileno()), cwd=ROOT, stdout=log, stderr=log,
                env=os.environ | {"DATABASE_URL": database}, pass_fds=[listener.fileno()],
            )  # fmt: skip
        stack.callback(_end, process)
        listener.close()
        _wait_until_it_answers(f"http://127.0.0.1:{port}", process, tmp_path / f"{name}.log")
        return Peer(f"http://127.0.0.1:{port}/payments", database)

    with stack:
        yield start


def _command(name: str, fd: int) -> list[str]:
    return [
        sys.executable, "-m", "gunicorn", "--worker-class", "gthread", "--threads", "16",
        "--no-control-socket", "--bind", f"fd://{fd}", f"tests.audit.peers.{name}:application",
    ]  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(timeout=30)


def _wait_until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx2.get(f"{url}/payments", timeout=5)
        except httpx2.TransportError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"the project did not start:\n{log.read_text()[-3000:]}")
