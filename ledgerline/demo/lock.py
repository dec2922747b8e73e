"""One demo per folder: a file lock that the kernel drops with its holder, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import DemoError


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
