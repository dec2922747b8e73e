"""Small raw servers that answer as no provider should."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def raw_server(answer: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """Accepts one caller, reads its request and leaves the rest to `answer`; yields the address.

    `answer` gets the connection and an event that is set when the test is over.
    """
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server, answer, over))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            server.shutdown(socket.SHUT_RDWR)  # wakes an accept that nobody came for
            thread.join(timeout=10)


def _serve(
    server: socket.socket,
    answer: Callable[[socket.socket, threading.Event], None],
    over: threading.Event,
) -> None:
    with contextlib.suppress(OSError):
        caller, _ = server.accept()
        with caller:
            caller.recv(65536)
            answer(caller, over)


def drip(caller: socket.socket, over: threading.Event) -> None:
    """A good head, then one byte of the body every 50 ms, for a minute."""
    caller.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 1200\r\n\r\n")
    for _ in range(1200):
        if over.wait(0.05):
            return
        caller.sendall(b" ")


def drip_head(caller: socket.socket, over: threading.Event) -> None:
    """Never even ends its head: one byte of it every 50 ms."""
    caller.sendall(b"HTTP/1.1 201 Created\r\nX-Slow: ")
    while not over.wait(0.05):
        caller.sendall(b"x")


def cut_short(caller: socket.socket, over: threading.Event) -> None:
    """Promises more than it sends, and hangs up."""
    caller.sendall(b'HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{"status": "succeeded"')


def unused_url() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"
