"""A database of one's own on the server of the tests."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
from psycopg import sql


@contextmanager
def created(server: str | None = None) -> Iterator[str]:
    """The URL of an empty database, which is dropped afterwards whoever is still connected."""
    given = urlsplit(server or os.environ["DATABASE_URL"])
    name = f"guest_{uuid.uuid4().hex[:12]}"
    _run(given.geturl(), "CREATE DATABASE {}", name)
    try:
        yield given._replace(path=f"/{name}").geturl()
    finally:
        _run(given.geturl(), "DROP DATABASE {} WITH (FORCE)", name)


def _run(url: str, statement: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(name)))
