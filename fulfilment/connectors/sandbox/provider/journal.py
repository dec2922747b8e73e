"""A file of JSON lines: appended and synced before anybody is told, read again at the next start."""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any


class BooksUnusable(Exception):
    """The file cannot be kept; the message is one sentence with a remedy."""


class Journal:
    """One file, held by one process. Not thread-safe: its owner's lock guards every call."""

    def __init__(self, path: Path, *, read: Callable[[Mapping[str, Any]], None]) -> None:
        """Opens or creates the file and gives each line to `read`, oldest first.

        Raises `BooksUnusable`, also where `read` raises ValueError, TypeError or KeyError.
        """
        self._file = _open(path)
        for number, line in enumerate(_whole_lines(self._file), start=1):
            _parse(line, number, path, read)

    def append(self, *records: Mapping[str, Any]) -> None:
        """Writes one line per record, all on disk before this returns.

        Raises OSError when they cannot be written; then none of them is.
        """
        before = os.fstat(self._file).st_size
        try:
            _write(self._file, b"".join(json.dumps(record).encode() + b"\n" for record in records))
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)  # else the next line would be glued to half a line
            raise

    def close(self) -> None:
        """Releases the file."""
        os.close(self._file)


def _write(file: int, lines: bytes) -> None:
    if os.write(file, lines) != len(lines):
        raise OSError("the line was cut short")


def _open(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BooksUnusable(
            f"the books {path} cannot be written ({error.strerror}); name a writable file with --books"
        ) from error
    try:
        # Two providers on one file would each book the same reference.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        raise BooksUnusable(
            f"another provider keeps the books {path}; stop it or name another file with --books"
        ) from error
    return file


def _whole_lines(file: int) -> Iterable[bytes]:
    with open(file, "rb", closefd=False) as lines:
        content = lines.read()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.ftruncate(file, whole)  # died in mid-write: it was never synced, so never answered
    return content[:whole].splitlines()


def _parse(line: bytes, number: int, path: Path, read: Callable[[Mapping[str, Any]], None]) -> None:
    try:
        read(json.loads(line))
    except (ValueError, TypeError, KeyError) as error:
        raise BooksUnusable(
            f"line {number} of the books {path} cannot be read; repair it or name another file"
        ) from error
