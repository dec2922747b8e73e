"""Servers that the environment gives are looked at before anything is started."""

from typing import LiteralString

import psycopg
import redis
from redis.exceptions import RedisError

from ledgerline import env

from .errors import DemoError

OLDEST = 150_000  # PostgreSQL 15, as the server numbers it
# Tables that are not ours: a database with tables of its own and no migration of `fulfilment`.
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = ANY (current_schemas(false))"
OURS = "SELECT count(*) FROM django_migrations WHERE app = 'fulfilment'"
MAY_CREATE = "SELECT has_schema_privilege(current_schema(), 'CREATE')"


def check() -> None:
    """Look at DATABASE_URL, REDIS_URL and CELERY_BROKER_URL where they are given.

    Raises:
        DemoError: one cannot be reached, or is not what it has to be.
    """
    database, cache, broker = (
        env.text(n) for n in ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL")
    )
    if database:
        _check_database(database)
    for name, url in (("REDIS_URL", cache), ("CELERY_BROKER_URL", broker)):
        if url:
            _check_redis(name, url)
    if cache and cache.rstrip("/") == broker.rstrip("/"):
        raise DemoError(
            "REDIS_URL and CELERY_BROKER_URL name the same database.",
            "Give the broker another server or database number: the cache may be flushed at any time.",
        )


def _check_database(url: str) -> None:
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            _check_version(connection)
            _check_contents(connection)
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        raise DemoError(
            f"DATABASE_URL is given, but its database cannot be used: {_one_line(error)}.",
            "Start that server, create that database, or unset DATABASE_URL to get an embedded one.",
        ) from error


def _check_version(connection: psycopg.Connection) -> None:
    if connection.info.server_version < OLDEST:
        raise DemoError(
            f"DATABASE_URL names a PostgreSQL {connection.info.server_version // 10_000}; 15 is the oldest.",
            "Give a newer server, or unset DATABASE_URL to get an embedded one.",
        )


def _check_contents(connection: psycopg.Connection) -> None:
    if not _number(connection, TABLES):
        if not _number(connection, MAY_CREATE):
            raise DemoError(
                f"DATABASE_URL's user {connection.info.user} may not create tables there.",
                "Give the database's owner, or GRANT CREATE ON SCHEMA public to that user.",
            )
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


def _number(connection: psycopg.Connection, statement: LiteralString) -> int:
    row = connection.execute(statement).fetchone()
    return int(row[0] or 0) if row else 0


def _check_redis(name: str, url: str) -> None:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except (RedisError, ValueError, OSError) as error:
        raise DemoError(
            f"{name} is given, but no Redis or Valkey answers there: {_one_line(error)}.",
            f"Start that server, or unset {name} to get an embedded one.",
        ) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".?")
