"""Requests on raw sockets: a client library would tidy up what the audit has to send untidily."""

import socket
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse

from idempotency.audit.messages import Answer, Request
from idempotency.audit.target import Target

MOST_BYTES = (
    1024 * 1024
)  # of an answer's body; the audit compares bytes, it does not download files


class NoAnswer(Exception):
    """The connection gave no answer that can be read."""


@dataclass(slots=True)
class Wire:
    """One connection to the endpoint, for one request."""

    target: Target
    until: float  # on the monotonic clock: when to give up, whatever trickles in
    connection: socket.socket | None = None

    def connect(self) -> None:
        """Raises NoAnswer."""
        try:
            plain = socket.create_connection(
                (self.target.address, self.target.port), timeout=self._left()
            )
            self.connection = self._wrapped(plain)
        except OSError as error:
            raise NoAnswer(f"no connection: {str(error) or 'not in time'}") from error

    def ask(self, request: Request) -> Answer:
        """Send the request and read the answer to its end. Raises NoAnswer."""
        if self.connection is None:
            raise NoAnswer("the connection was not made")
        with self.connection as connection:
            try:
                connection.settimeout(self._left())
                with suppress(OSError):  # refused while it was still sent: the answer may be there
                    connection.sendall(b"".join(_pieces(request, self.target)))
                return self._read(connection, request.method)
            except TimeoutError as error:
                raise NoAnswer("no answer in time") from error
            except (OSError, HTTPException, ValueError) as error:  # or it is no HTTP
                raise NoAnswer(f"no answer: {str(error) or type(error).__name__}") from error

    def _read(self, connection: socket.socket, method: str) -> Answer:
        response = HTTPResponse(connection, method=method)
        response.begin()
        body, whole = self._body(connection, response)
        if whole is not None and len(body) < min(whole, MOST_BYTES):
            raise HTTPException("it broke off")
        return Answer(response.status, tuple(response.getheaders()), body[:MOST_BYTES])

    def _body(self, connection: socket.socket, response: HTTPResponse) -> tuple[bytes, int | None]:
        """The body, and how long it was said to be; without an end, as much as is compared."""
        body, whole = bytearray(), response.length
        while len(body) < MOST_BYTES and len(body) != whole:
            connection.settimeout(self._left())
            piece = response.read1(65536)
            if not piece:
                break
            body += piece
        return bytes(body), whole

    def _left(self) -> float:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _wrapped(self, plain: socket.socket) -> socket.socket:
        if not self.target.secure:
            return plain
        return ssl.create_default_context().wrap_socket(plain, server_hostname=self.target.host)


def _pieces(request: Request, target: Target) -> Iterable[bytes]:
    yield f"{request.method} {target.path} HTTP/1.1\r\n".encode("ascii")
    yield f"Host: {target.authority}\r\nConnection: close\r\n".encode("ascii")
    for name, value in request.headers:
        yield name.encode("ascii") + b": " + value + b"\r\n"
    if request.chunked:
        yield b"Transfer-Encoding: chunked\r\n\r\n"
        yield b"%x\r\n%s\r\n" % (len(request.body), request.body) if request.body else b""
        yield b"0\r\n\r\n"
    else:
        length = len(request.body)
        yield (
            b"Content-Length: %d\r\n\r\n" % length if length or request.method != "GET" else b"\r\n"
        )
        yield request.body
