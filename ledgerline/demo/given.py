"""Servers that the environment gives are looked at before anything is started."""

import redis
from redis.exceptions import RedisError

from ledgerline import env

from . import database
from .errors import DemoError

NAMES = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL")


def urls() -> dict[str, str]:
    """The servers that the environment names."""
    return {name: url for name in NAMES if (url := env.text(name))}


def check() -> None:
    """Look at DATABASE_URL, REDIS_URL and CELERY_BROKER_URL where they are given.

    Raises:
        DemoError: one cannot be reached, or is not what it has to be.
    """
    given = urls()
    if "DATABASE_URL" in given:
        database.check(given["DATABASE_URL"])
    seen = [_check_redis(name, given[name]) for name in NAMES[1:] if name in given]
    if len(seen) > len(set(seen)):
        raise DemoError(
            "REDIS_URL and CELERY_BROKER_URL name the same database.",
            "Give the broker another server or database number: the cache may be flushed at any time.",
        )


def _check_redis(name: str, url: str) -> tuple[str, int]:
    """Which database of which server it is, by the server's own word: a host has many names."""
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
            number = int(client.connection_pool.connection_kwargs.get("db") or 0)
            return str(client.info("server")["run_id"]), number
    except redis.exceptions.NoPermissionError:  # a user who may not ask for INFO
        return url.rstrip("/"), 0
    except (RedisError, ValueError, OSError) as error:
        raise DemoError(
            f"{name} is given, but no Redis or Valkey answers there: {database.one_line(error)}.",
            f"Start that server, or unset {name} to get an embedded one.",
        ) from error
