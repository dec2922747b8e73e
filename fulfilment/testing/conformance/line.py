"""The line between a connector and its provider: real connections, and all that befalls them.

Standard library only. Each call is one connection; what the provider answers is read whole before
the caller gets any of it, so what is lost or altered on the way has really happened there.
"""

import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from typing import Final
from urllib.parse import urlsplit

from fulfilment.testing.conformance.faults import Fault

_OURS = {"connection", "content-length", "transfer-encoding", "date", "server"}
_PATIENCE: Final = 30.0  # for a caller that never hangs up, and for a provider that never answers
_TRICKLES: Final = 160  # bytes, 50 ms apart: longer than any test waits
_MORE_THAN_ANY: Final = 3 << 20  # bytes; a connector reads one MiB at most


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back to the caller."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Order:
    """One call, as it came in."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def names(self, reference: str) -> bool:
        """Is it about this reference?"""
        return reference in self.path or reference.encode() in self.body


class Line:
    """Listens on loopback and hands everything on to the provider at `upstream` (http)."""

    def __init__(self, upstream: str) -> None:
        """`upstream` is http://host:port; a path after it is the caller's business."""
        self.upstream = upstream.rstrip("/")
        self.orders: list[Order] = []  # whatever became of them
        self.fault: Fault | None = None
        self.altered: Callable[[Fault, Answer], Answer] = lambda _, answer: answer
        self._held: list[Order] = []
        self._over = threading.Event()
        self._port = 0
        self._listen()

    @property
    def url(self) -> str:
        """Where the connector is to call."""
        return f"http://127.0.0.1:{self._port}"

    @contextmanager
    def under(self, fault: Fault) -> Iterator[None]:
        """This fault meets every call of the block."""
        self._over.clear()
        self.fault = fault
        if fault is Fault.REFUSED:
            self._hang_up()
        try:
            yield
        finally:
            self.fault = None
            self._over.set()
            if fault is Fault.REFUSED:
                self._listen()

    def let_through(self) -> None:
        """What was held up arrives now; returns once the provider has answered all of it."""
        while self._held:
            self.hand_on(self._held.pop(0))

    def hand_on(self, order: Order) -> Answer:
        """Let the provider have it; what it answers, whole."""
        away = urlsplit(self.upstream)
        caller = http.client.HTTPConnection(away.netloc, timeout=_PATIENCE)
        try:
            caller.request(order.method, order.path, order.body, dict(order.headers))
            got = caller.getresponse()
            kept = [(name, value) for name, value in got.getheaders() if name.lower() not in _OURS]
            return Answer(got.status, tuple(kept), got.read())
        finally:
            caller.close()

    def close(self) -> None:
        """Nobody calls any more."""
        self._over.set()
        self._hang_up()

    def _listen(self) -> None:
        self._server = socket.create_server(("127.0.0.1", self._port), backlog=64)
        self._port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._server,), daemon=True).start()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._server.close()

    def _accept(self, server: socket.socket) -> None:
        with suppress(OSError):  # closed
            while True:
                caller, _ = server.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with caller, suppress(OSError, http.client.HTTPException):
            order, fault = _read(caller), self.fault
            if order is None:
                return
            self.orders.append(order)
            match fault:
                case Fault.LATE_REQUEST:
                    self._held.append(order)
                    self._wait_for_hang_up(caller)
                case Fault.LOST_REQUEST:
                    _reset(caller)
                case Fault.REDIRECT:
                    elsewhere = (("Location", self.upstream + order.path),)
                    _write(caller, Answer(307, elsewhere, b""))
                case _:
                    self._answer(caller, self.hand_on(order), fault=fault)

    def _answer(self, caller: socket.socket, answer: Answer, *, fault: Fault | None) -> None:
        """By now the provider has done what it was asked for."""
        match fault:
            case Fault.LOST_ANSWER:
                _reset(caller)
            case Fault.SLOW_ANSWER:
                self._wait_for_hang_up(caller)
            case Fault.TRICKLE:
                self._trickle(caller)
            case Fault.CUT_SHORT:
                _write(caller, answer, only=max(1, len(answer.body) // 2))
            case None:
                _write(caller, answer)
            case _:
                _write(caller, self._spoilt(answer, fault))

    def _spoilt(self, answer: Answer, fault: Fault) -> Answer:
        match fault:
            case Fault.HUGE:
                return replace(answer, body=answer.body + b" " * _MORE_THAN_ANY)
            case Fault.SERVER_ERROR:
                return Answer(502, (("Content-Type", "text/html"),), b"<h1>Bad gateway</h1>")
            case Fault.GARBAGE:
                return Answer(200, answer.headers, b"\x1f\x8b\x08\x00 \xff\xfe not an answer")
            case _:
                return self.altered(fault, answer)

    def _trickle(self, caller: socket.socket) -> None:
        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        for _ in range(_TRICKLES):
            if self._over.wait(0.05):
                return
            caller.sendall(b" ")

    def _wait_for_hang_up(self, caller: socket.socket) -> None:
        caller.settimeout(_PATIENCE)
        caller.recv(1)  # b"" once the caller has given up


def _read(caller: socket.socket) -> Order | None:
    """One request, as the standard library's server reads it; None where it is none."""
    with caller.makefile("rb") as stream:
        reader = _Reader(stream)
        if not reader.parse():
            return None
        length = int(reader.headers.get("Content-Length", "0"))
        kept = [
            (name, value) for name, value in reader.headers.items() if name.lower() != "connection"
        ]
        body = stream.read(length)
        return Order(reader.command, reader.path, (*kept, ("Connection", "close")), body)


class _Reader(BaseHTTPRequestHandler):
    def __init__(self, stream: object) -> None:
        self.rfile = stream  # type: ignore[assignment]

    def parse(self) -> bool:
        self.raw_requestline = self.rfile.readline(65537)
        return bool(self.raw_requestline) and self.parse_request()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Whoever sends no HTTP is not answered."""


def _write(caller: socket.socket, answer: Answer, *, only: int | None = None) -> None:
    lines = [f"HTTP/1.1 {answer.status} {http.client.responses.get(answer.status, 'Odd')}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    lines += [f"Content-Length: {len(answer.body)}", "Connection: close", "", ""]
    caller.sendall("\r\n".join(lines).encode("latin-1") + answer.body[:only])


def _reset(caller: socket.socket) -> None:
    """An RST and not a FIN, as from a machine that died."""
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
