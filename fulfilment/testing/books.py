"""The file in which a fake keeps what it was told, what it was asked and what it paid.

A file, because the world outside is not ours to roll back: what was paid stays paid when a test's
transaction is undone or its process is killed, and every thread and process sees the same. One
line is one fact; nothing is ever changed.
"""

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

Fact: TypeAlias = dict[str, Any]

# What can become of an order; the last of these facts is where it stands.
STANDINGS = ("accepted", "paid", "declined", "given_back")


class Page:
    """All facts, in the hands of one reader; what it writes is a fact at once."""

    def __init__(self, file: IO[bytes]) -> None:
        """`file` is open for reading and appending, and locked."""
        self._file = file
        file.seek(0)
        self.facts: list[Fact] = [json.loads(line) for line in file]

    @property
    def now(self) -> float:
        """The fake's time, in seconds: the clock, and what tests let pass (`pass_time`)."""
        return time.time() + sum(float(fact["seconds"]) for fact in self.of("passed"))

    def of(self, *kinds: str, reference: str | None = None) -> list[Fact]:
        """The facts of these kinds, oldest first; of one reference, or of all."""
        found = (fact for fact in self.facts if fact["fact"] in kinds)
        return [fact for fact in found if reference in (None, fact.get("reference"))]

    def order(self, reference: str) -> Fact:
        """The last order that was sent with this reference. Raises AssertionError."""
        found = self.of("sent", reference=reference)
        if not found:
            raise AssertionError(f"nothing was ever sent under the reference {reference}")
        return found[-1]

    def write(self, kind: str, **said: Any) -> Fact:
        """Add a fact; it is there for everybody, whatever happens to this process."""
        fact = {"fact": kind, "at": self.now} | said
        self._file.write(json.dumps(fact).encode() + b"\n")
        self._file.flush()
        self.facts.append(fact)
        return fact


@contextmanager
def opened(path: Path) -> Iterator[Page]:
    """The file, for one thread of one process at a time; made where it is not there yet."""
    with path.open("a+b") as file:
        # Each opening has a lock of its own, so threads exclude each other as processes do.
        fcntl.flock(file, fcntl.LOCK_EX)
        yield Page(file)
