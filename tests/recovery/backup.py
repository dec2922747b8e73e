"""A backup of the test's database, and the database that is restored from it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def taken() -> Iterator[Callable[[], None]]:
    """Back the database up now. What is yielded restores it: what was committed since is gone."""
    settings = connection.settings_dict
    name, copy = settings["NAME"], f"{settings['NAME']}_backup"
    connection.close()
    _maintain(f'DROP DATABASE IF EXISTS "{copy}"', f'CREATE DATABASE "{copy}" TEMPLATE "{name}"')

    def restored() -> None:
        connection.close()
        settings["NAME"] = copy

    try:
        yield restored
    finally:
        connection.close()
        settings["NAME"] = name
        _maintain(f'DROP DATABASE "{copy}" WITH (FORCE)')


def _maintain(*statements: str) -> None:
    with connection._nodb_cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
