"""Round trips as the network sees them: a TCP proxy that counts how often a client has to wait.

with counted(host, port) as wire:
    ...                      # a client that talks to wire.port
    wire.trips               # so many times it has sent something after it was answered
"""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Wire:
    """One proxy in front of one server. A batch that is sent before any answer counts once."""

    server: tuple[str, int]
    listener: socket.socket
    trips: int = 0
    sent: list[bytes] = field(default_factory=list)  # what each trip carried, for failure messages

    @property
    def port(self) -> int:
        """Where clients connect to."""
        return int(self.listener.getsockname()[1])

    def forget(self) -> None:
        """Begin to count anew. Call while no request is under way."""
        self.trips = 0
        self.sent.clear()

    def carry(self) -> None:
        """Serve one client after the other, or several at once, until the listener is closed."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pump, args=(client,), daemon=True).start()

    def _pump(self, client: socket.socket) -> None:
        with client, socket.create_connection(self.server) as upstream:
            for side in (client, upstream):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._relay(client, upstream)

    def _relay(self, client: socket.socket, upstream: socket.socket) -> None:
        """Answers are carried first: what a client sends after one is ready is another trip."""
        answered = True
        with selectors.DefaultSelector() as ready:
            ready.register(upstream, selectors.EVENT_READ, client)
            ready.register(client, selectors.EVENT_READ, upstream)
            while True:
                found = {key.fileobj: key.data for key, _ in ready.select()}
                for source in (upstream, client):
                    if source not in found:
                        continue
                    data = _read(source)
                    if not data:
                        return
                    if source is client:
                        self._count(data, answered=answered)
                    answered = source is upstream
                    found[source].sendall(data)

    def _count(self, data: bytes, *, answered: bool) -> None:
        if answered:
            self.trips += 1
            self.sent.append(data)
        else:
            self.sent[-1] += data


@contextmanager
def counted(host: str, port: int) -> Iterator[Wire]:
    """A proxy in front of the server at `host:port`, for as long as the block lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    wire = Wire((host, port), listener)
    thread = threading.Thread(target=wire.carry, daemon=True)
    thread.start()
    try:
        yield wire
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def _read(source: socket.socket) -> bytes:
    try:
        return source.recv(65536)
    except ConnectionError:
        return b""
