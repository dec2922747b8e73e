"""Holds a process at a chosen statement, from outside: a trigger that waits for a lock we have.

So a kill lands between two statements of the running system, and not somewhere near them.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg

from ledgerline.demo.check.system import System, connections

_INSTALL = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {when} THEN
        PERFORM pg_advisory_xact_lock({gate});
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}();
"""
_REMOVE = "DROP FUNCTION IF EXISTS {name}() CASCADE"
_WAITING = """
SELECT a.client_port, a.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
 WHERE l.locktype = 'advisory' AND NOT l.granted AND l.classid = 0 AND l.objid = %(gate)s
"""


@dataclass(frozen=True, slots=True)
class At:
    """A statement to be held: `event` on `table`, for rows for which `when` is true (SQL)."""

    table: str
    event: str
    when: str


@dataclass(frozen=True, slots=True)
class Stall:
    """The open gate's keeper; leaving the `with` lets everybody through again."""

    system: System
    connection: psycopg.Connection
    gate: int  # the number of the advisory lock

    def caught(self, role: str, *, patience: float = 20.0) -> psutil.Process:
        """The process of this role that waits at the gate."""
        wait_for(self._waiting, f"no {role} process came to the gate", patience=patience)
        return process_at(self.system, role, port=self._waiting()[0]["client_port"])

    def kill(self, role: str) -> None:
        """`kill -9` the process at the gate, before its statement has happened.

        Its database session ends with it: PostgreSQL would finish the statement for a dead client.
        """
        process = self.caught(role)
        sessions = [row["pid"] for row in self._waiting()]
        process.suspend()
        self.connection.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) pid", [sessions])
        process.kill()

    def let_through(self) -> None:
        """Open the gate; what waits there goes on."""
        self.connection.execute("SELECT pg_advisory_unlock_all()")

    def _waiting(self) -> list[dict[str, Any]]:
        return self.system.rows(_WAITING, gate=self.gate)


@contextmanager
def stalled(system: System, at: At) -> Iterator[Stall]:
    """Hold whoever executes `at`, until told otherwise or until the end of the block.

    The server's lock time-out bounds how long it can be held.
    """
    gate = random.randrange(1, 2**31)
    name = f"demo_check_{gate}"
    with psycopg.connect(system.database_url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [gate])
        install = _INSTALL.format(
            name=name, gate=gate, event=at.event, table=at.table, when=at.when
        )
        connection.execute(install.encode())
        try:
            yield Stall(system, connection, gate)
        finally:
            connection.execute("SELECT pg_advisory_unlock_all()")
            connection.execute(_REMOVE.format(name=name).encode())


def process_at(system: System, role: str, *, port: int) -> psutil.Process:
    """The process of this role whose database connection has this local port."""
    for process in system.processes(role):
        if any(end.laddr and end.laddr.port == port for end in connections(process)):
            return process
    raise AssertionError(f"no {role} process holds the database connection from port {port}")


def wait_for(question: Callable[[], object], otherwise: str, *, patience: float = 20.0) -> None:
    """Ask until the answer is true. Raises `AssertionError` with `otherwise` when patience ends."""
    deadline = time.monotonic() + patience
    while not question():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.05)
