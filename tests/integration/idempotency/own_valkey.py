"""A Valkey of one's own, to be frozen, killed, filled and starved."""

import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis

from ledgerline.demo import valkey
from ledgerline.demo.children import Child, Children
from tests.connectors.sandbox import until


class Server:
    """One real server, and everything that can happen to it."""

    def __init__(self, children: Children, url: str) -> None:
        self._children, self.url = children, url
        self._empowered()

    @property
    def _child(self) -> Child:
        [child] = self._children.running()
        return child

    def kill(self) -> None:
        """Gone, with all it knew; its port refuses."""
        os.kill(self._child.process.pid, signal.SIGKILL)
        self._child.process.wait()

    def restart(self) -> None:
        """Killed, and back at the same place with nothing in it."""
        self.kill()
        self._revived()

    def freeze(self) -> None:
        """It takes connections and never says a word."""
        os.kill(self._child.process.pid, signal.SIGSTOP)

    def flush(self) -> None:
        self.boss.flushall()

    def fill(self) -> None:
        """A megabyte beside what it needs itself, and it throws away whatever it likes."""
        room = self.boss.info("memory")["used_memory"] + 1024 * 1024
        self.boss.config_set("maxmemory-policy", "allkeys-lru")
        self.boss.config_set("maxmemory", room)
        for n in range(40):
            self.boss.set(f"junk:{n}", b"x" * 50_000)
        assert self.boss.info("stats")["evicted_keys"], "nothing was thrown away"

    def starve(self) -> None:
        """It is full and throws nothing away: reads work, writes are refused (OOM)."""
        self.boss.config_set("maxmemory-policy", "noeviction")
        self.boss.config_set("maxmemory", "1")

    def demote(self) -> None:
        """It becomes the replica of a master that is gone: reads work, writes are refused (READONLY)."""
        self.boss.replicaof("127.0.0.1", "1")

    def deny(self) -> None:
        """Every command gets an error for an answer (NOPERM)."""
        self.boss.execute_command("ACL", "SETUSER", "default", "-@all", "+auth", "+hello")

    def heal(self) -> None:
        """Whatever was done to it is over."""
        if self._child.process.poll() is not None:
            self._revived()
        os.kill(self._child.process.pid, signal.SIGCONT)
        self.boss.replicaof("NO", "ONE")
        self.boss.config_set("maxmemory", "0")
        self.boss.execute_command("ACL", "SETUSER", "default", "+@all")
        self.flush()

    def _revived(self) -> None:
        self._children.spawn(self._child.program)
        port = urlsplit(self.url).port
        until(lambda: _listens(port), what="the server to be back", seconds=20)
        self._empowered()

    def _empowered(self) -> None:
        """A user of the test's own, whom no fault concerns."""
        with redis.Redis.from_url(self.url) as door:
            door.execute_command("ACL", "SETUSER", "boss", "on", "nopass", "~*", "&*", "+@all")
        port = urlsplit(self.url).port
        self.boss: Any = redis.Redis(port=port or 0, username="boss", password="any")


@contextmanager
def own_valkey() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="ledgerline-valkey-") as name:
        children = Children(Path(name) / "servers.json")
        try:
            yield Server(children, valkey.start(children, Path(name) / "own", rules=()))
        finally:
            children.end_all()


FAULTS: dict[str, Callable[[Server], None]] = {
    "down": Server.kill,
    "restarted": Server.restart,
    "frozen": Server.freeze,
    "flushed": Server.flush,
    "evicting": Server.fill,
    "full": Server.starve,
    "read-only": Server.demote,
    "all errors": Server.deny,
}


def _listens(port: int | None) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port or 0)) == 0
