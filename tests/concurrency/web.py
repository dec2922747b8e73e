"""The web server that we ship, with its several processes, on the database of the test."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from django.db import connection

_COMMAND = [
    sys.executable, "-m", "gunicorn", "--config", "python:ledgerline.gunicorn",
    "ledgerline.wsgi:application", "--bind",
]  # fmt: skip


@contextmanager
def serving(log: Path, *, port: int = 0, **environment: str) -> Iterator[str]:
    """Its address; it ends with the block. What its processes say is in `log`."""
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    with listener, log.open("wb") as output:
        bound = f"fd://{listener.fileno()}"
        process = subprocess.Popen(
            [*_COMMAND, bound], env=os.environ | _database() | environment, stdout=output, stderr=output,
            pass_fds=[listener.fileno()],
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            httpx2.get(f"{url}/healthz", timeout=180).raise_for_status()
            yield url
        finally:
            process.terminate()
            process.wait(timeout=30)


def _database() -> dict[str, str]:
    at = connection.settings_dict
    place = f"{at['HOST']}:{at['PORT']}/{at['NAME']}"
    return {"DATABASE_URL": f"postgresql://{at['USER']}:{at['PASSWORD']}@{place}"}
