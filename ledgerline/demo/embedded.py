"""Real servers without a system package: PostgreSQL 18 and two Valkeys, on free loopback ports."""

from collections.abc import Mapping
from pathlib import Path

from ledgerline import env

from . import placement, postgres, valkey
from .children import Children
from .given import NAMES

__all__ = ["NAMES", "Servers", "missing", "start"]


class Servers:
    """The servers of one folder, until `stop`."""

    def __init__(self, folder: Path) -> None:
        self.children = Children(folder / "servers.json")
        self.folder = folder
        self._urls: dict[str, str] = {}

    def add(self, name: str, *, durable: bool) -> None:
        """Start the server behind one of `NAMES`."""
        match name:
            case "DATABASE_URL":
                url = postgres.start(self.children, self.folder / "postgres", durable=durable)
            case "REDIS_URL":
                url = valkey.start(self.children, self.folder / "cache", rules=valkey.CACHE)
            case _:
                url = valkey.start(self.children, self.folder / "broker", rules=valkey.BROKER)
        self._urls[name] = url

    def urls(self) -> Mapping[str, str]:
        """DATABASE_URL, REDIS_URL and CELERY_BROKER_URL of what was started here."""
        return dict(self._urls)

    def pids(self) -> dict[str, list[int]]:
        """`postgres`, `cache` and `broker` → their process ids, the server's own first."""
        return self.children.pids()

    def stop(self) -> None:
        """End what was started here, and wait for it. The data stay for the next start."""
        self.children.end_all()

    def discard(self) -> None:
        """Stop, and delete the data."""
        self.stop()
        for name in ("postgres", "cache", "broker"):
            placement.discard(self.folder / name)


def missing() -> list[str]:
    """Those of `NAMES` that the environment does not give."""
    return [name for name in NAMES if not env.text(name)]


def start(folder: Path, *, durable: bool = True) -> Servers:
    """Start the servers that the environment does not give; each has a sub-folder of `folder`.

    Servers that a killed run of the same folder left behind are ended first. As root, PostgreSQL
    runs as `nobody`. With `durable=False` commits do not wait for the disk, for tests.

    Raises:
        DemoError: one did not start; the others have been stopped again.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    servers = Servers(folder)
    servers.children.end_leftovers()
    try:
        for name in missing():
            servers.add(name, durable=durable)
    except BaseException:  # Ctrl-C too leaves nothing behind
        servers.stop()
        raise
    return servers
