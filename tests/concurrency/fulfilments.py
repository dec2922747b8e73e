"""For the tests in which workers meet: threads with connections of their own, scratch databases."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import TypeVar

from django.db import connection, connections

T = TypeVar("T")


def at_once(*works: Callable[[], T]) -> list[T | BaseException]:
    """Start all at the same moment; what each returned or raised."""
    barrier = Barrier(len(works), timeout=20)

    def one(work: Callable[[], T]) -> T | BaseException:
        try:
            barrier.wait()
            return work()
        except Exception as error:  # noqa: BLE001  # the test judges what was raised
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(one, works))


def until_somebody_waits() -> None:
    """Until another session waits for a lock of this one: a barrier, not a sleep."""
    with connection.cursor() as cursor:
        for _ in range(400):
            cursor.execute(
                "SELECT count(*) FROM pg_locks"
                " WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT pg_sleep(0.01)")
    raise AssertionError("nobody ever waited for this session")


@contextmanager
def scratch_database(*statements: str) -> Iterator[None]:
    """A copy of the test database from which a guard is taken away, gone afterwards."""
    settings = connection.settings_dict
    name, scratch = settings["NAME"], f"{settings['NAME']}_scratch"
    connection.close()
    _maintain(
        f'DROP DATABASE IF EXISTS "{scratch}"', f'CREATE DATABASE "{scratch}" TEMPLATE "{name}"'
    )
    try:
        settings["NAME"] = scratch
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        yield
    finally:
        connection.close()
        settings["NAME"] = name
        _maintain(f'DROP DATABASE "{scratch}" WITH (FORCE)')


def _maintain(*statements: str) -> None:
    with connection._nodb_cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
