"""The database that DATABASE_URL names, looked at."""

from typing import LiteralString

import psycopg

from ledgerline import env

from .errors import DemoError

OLDEST = 150_000  # PostgreSQL 15, as the server numbers it
# PostgreSQL's own: tools expect them, and what lies in template1 is in every new database.
MAINTENANCE = ("postgres", "template1")
# Tables that are not ours: a database with tables of its own and no migration of `fulfilment`.
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = ANY (current_schemas(false))"
OURS = "SELECT count(*) FROM django_migrations WHERE app = 'fulfilment'"
MAY_CREATE = "SELECT has_schema_privilege(current_schema(), 'CREATE')"


def check(url: str) -> None:
    """Look at the database that Django will use.

    Raises:
        DemoError: it cannot be reached, or is not what it has to be.
    """
    try:
        env.database("DATABASE_URL", url)  # refuses all that libpq would read in another way
        with psycopg.connect(url, connect_timeout=5) as connection:
            _check_version(connection)
            _check_contents(connection)
    except env.BadSetting as error:
        raise DemoError(
            str(error),
            "Write it as postgresql://user:password@host:port/name, or unset DATABASE_URL.",
        ) from error
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        raise DemoError(
            f"DATABASE_URL is given, but its database cannot be used: {one_line(error)}.",
            "Start that server, create that database, or unset DATABASE_URL to get an embedded one.",
        ) from error


def one_line(error: Exception) -> str:
    """What a driver says, without its line breaks and its last full stop."""
    return " ".join(str(error).split()).rstrip(".?")


def _check_version(connection: psycopg.Connection) -> None:
    if connection.info.server_version < OLDEST:
        raise DemoError(
            f"DATABASE_URL names a PostgreSQL {connection.info.server_version // 10_000}; 15 is the oldest.",
            "Give a newer server, or unset DATABASE_URL to get an embedded one.",
        )


def _check_contents(connection: psycopg.Connection) -> None:
    if not _number(connection, TABLES):
        _check_empty(connection)
        return
    try:
        ours = _number(connection, OURS)
    except psycopg.errors.UndefinedTable:
        ours = 0
    if not ours:
        raise DemoError(
            f"DATABASE_URL's database {connection.info.dbname} holds something else than Ledgerline.",
            "Give an empty database (createdb), or unset DATABASE_URL to get an embedded one.",
        )


def _check_empty(connection: psycopg.Connection) -> None:
    if connection.info.dbname in MAINTENANCE:
        raise DemoError(
            f"DATABASE_URL names {connection.info.dbname}, which is PostgreSQL's own database.",
            "Give one of its own (createdb ledgerline), or unset DATABASE_URL to get an embedded one.",
        )
    if not _number(connection, MAY_CREATE):
        raise DemoError(
            f"DATABASE_URL's user {connection.info.user} may not create tables there.",
            "Give the database's owner, or GRANT CREATE ON SCHEMA public to that user.",
        )


def _number(connection: psycopg.Connection, statement: LiteralString) -> int:
    row = connection.execute(statement).fetchone()
    return int(row[0] or 0) if row else 0
