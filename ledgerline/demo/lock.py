"""One demo per folder and per database: locks that go with their holder, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from .errors import DemoError

CLAIM = "SELECT pg_try_advisory_lock(hashtextextended('ledgerline/demo', 0))"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder's lock.

    Raises:
        DemoError: another demo holds it.
    """
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise DemoError(
                f"A demo already runs from {folder} (process {file.read().strip() or 'unknown'}).",
                "Use that one (`make demo-check` does), or end it with Ctrl-C in its terminal.",
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@contextmanager
def of_database(url: str) -> Iterator[None]:
    """Hold the given database for one demo; nothing to hold where none is given.

    Raises:
        DemoError: a demo of another clone uses it: its worker would send our payments elsewhere.
    """
    if not url:
        yield
        return
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute(CLAIM).fetchone() != (True,):
            raise DemoError(
                "Another demo uses the database that DATABASE_URL names.",
                "End that one, give another database, or unset DATABASE_URL to get an embedded one.",
            )
        yield
