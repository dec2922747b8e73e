"""The provider on the wire: loopback HTTP/1.1, one thread per connection."""

import hmac
import os
import socket
import socketserver
import struct
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fulfilment.connectors.sandbox.provider import answers, order, page
from fulfilment.connectors.sandbox.provider.answers import Answer
from fulfilment.connectors.sandbox.provider.desk import Call, Desk

_MAX_BODY = 64 * 1024
_PAYMENTS = "/v1/payments"


class Server(ThreadingHTTPServer):
    """Listens on loopback only: its faults and books are open to everybody on the machine."""

    request_queue_size = 512  # a test connects 200 callers in one instant
    daemon_threads = True  # a hanging answer must not keep the process alive

    def __init__(self, desk: Desk, *, port: int, secret: str) -> None:
        """Binds at once; `port` 0 takes a free one. Raises OSError when the port is in use."""
        self.desk = desk
        self.secret = secret
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def server_bind(self) -> None:
        """Binds without asking DNS for the name of 127.0.0.1, as the parent would."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hung up is everyday life here; all else is a bug and is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Reads one request, asks the desk, writes one answer."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60  # an idle connection gives its thread back
    wbufsize = -1  # head and body in one segment, so no delayed acknowledgement
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Look-up, books, faults, health."""
        path = urlsplit(self.path).path
        if path.startswith(_PAYMENTS + "/"):
            reference = unquote(path.removeprefix(_PAYMENTS + "/"))
            self._guarded(lambda call: self.server.desk.look_up(reference, call))
        elif path == "/books":
            self._send(self._books())
        elif path == "/faults":
            self._send(answers.of({"faults": self.server.desk.faults()}))
        elif path == "/healthz":
            self._send(answers.of({"status": "ok"}))
        else:
            self._send(_no_such_endpoint())

    def do_POST(self) -> None:
        """A payment, or a fault to set."""
        body, path = self._body(), urlsplit(self.path).path
        if body is None:
            self._send(
                answers.error(413, "invalid_request", "The body has no length or is too long.")
            )
        elif path == _PAYMENTS:
            self._guarded(lambda call: self.server.desk.pay(order.read(body), call))
        elif path == "/faults":
            self._send(self._set_fault(body))
        else:
            self._send(_no_such_endpoint())

    def do_DELETE(self) -> None:
        """Ends faults: all, or those that fit the query."""
        url = urlsplit(self.path)
        if url.path != "/faults":
            return self._send(_no_such_endpoint())
        removed = self.server.desk.clear_faults(dict(parse_qsl(url.query)))
        return self._send(answers.of({"removed": removed}))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the parent's name
        """Silent: `/books` shows the calls."""

    def _guarded(self, decide: Any) -> None:
        call = self.server.desk.open_call(self.command, self.path)
        answer = self._authenticated(decide, call)
        call.answer = answer.summary
        self._send(answer)

    def _authenticated(self, decide: Any, call: Call) -> Answer:
        given = self.headers.get("Authorization", "").encode("latin-1")
        if not hmac.compare_digest(given, f"Bearer {self.server.secret}".encode()):
            return answers.error(401, "authentication_error", "The secret is not valid.")
        try:
            answer: Answer = decide(call)
        except order.InvalidRequest as error:
            return answers.error(400, "invalid_request", f"{error}.")
        except OSError:
            # Says "nothing begun" nowhere: the caller has to look it up.
            return answers.error(500, "api_error", "The books cannot be written.")
        return answer

    def _set_fault(self, body: bytes) -> Answer:
        try:
            rule = self.server.desk.set_fault(order.object_of(body))
        except order.InvalidRequest as error:
            return answers.error(400, "invalid_request", f"{error}.")
        return answers.of(rule, status=201)

    def _books(self) -> Answer:
        statement = self.server.desk.statement()
        query = dict(parse_qsl(urlsplit(self.path).query))
        wants_json = "application/json" in self.headers.get("Accept", "")
        if wants_json or query.get("format") == "json":
            return answers.of(statement)
        return page.books(statement, faults=self.server.desk.faults(), url=self.server.url)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > _MAX_BODY:
            self.close_connection = True  # what follows is not a next request
            return None
        return self.rfile.read(int(length))

    def _send(self, answer: Answer) -> None:
        time.sleep(answer.after)
        if answer.reset:
            return self._reset()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in answer.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        return None

    def _reset(self) -> None:
        """Sends an RST, not a FIN: linger 0, and closed here, before the server would shut it down."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())


def _no_such_endpoint() -> Answer:
    # Not `not_found`: a wrong address must never read as "no payment has this reference".
    return answers.error(404, "no_such_endpoint", "There is nothing at this address.")
