"""The projects that are audited, each in a server process of its own with an empty database."""

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
from psycopg import sql

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
    stops: list[Callable[[], None]] = []

    def start(name: str) -> Peer:
        database, drop = _database()
        stops.append(drop)
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        port = listener.getsockname()[1]
        with (tmp_path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                _command(name, listener.fileno()), cwd=ROOT, stdout=log, stderr=log,
                env=os.environ | {"DATABASE_URL": database}, pass_fds=[listener.fileno()],
            )  # fmt: skip
        stops.append(lambda: _end(process))
        listener.close()
        _wait_until_it_answers(f"http://127.0.0.1:{port}", process, tmp_path / f"{name}.log")
        return Peer(f"http://127.0.0.1:{port}/payments", database)

    yield start
    for stop in reversed(stops):
        stop()


def _command(name: str, fd: int) -> list[str]:
    return [
        sys.executable, "-m", "gunicorn", "--worker-class", "gthread", "--threads", "16",
        "--no-control-socket", "--bind", f"fd://{fd}", f"tests.audit.peers.{name}:application",
    ]  # fmt: skip


def _database() -> tuple[str, Callable[[], None]]:
    given = urlsplit(os.environ["DATABASE_URL"])
    name = f"audit_{uuid.uuid4().hex[:12]}"
    url = given._replace(path=f"/{name}").geturl()
    _run(given.geturl(), sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    _run(url, sql.SQL(TABLE))
    dropped = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
    return url, lambda: _run(given.geturl(), dropped)


def _run(url: str, statement: sql.Composable) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


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
