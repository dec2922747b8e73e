"""The provider on the wire: loopback HTTP/1.1, one thread per connection."""

import os
import socket
import socketserver
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fulfilment.connectors.sandbox.provider import answers
from fulfilment.connectors.sandbox.provider.answers import Answer
from fulfilment.connectors.sandbox.provider.routes import Request, Routes

_MAX_BODY = 64 * 1024


class Server(ThreadingHTTPServer):
    """Listens on loopback only: its faults and books are open to everybody on the machine."""

    request_queue_size = 512  # a test connects 200 callers in one instant
    daemon_threads = True  # a hanging answer must not keep the process alive
    routes: Routes

    def __init__(self, *, port: int) -> None:
        """Binds at once; `port` 0 takes a free one. Raises OSError when the port is in use."""
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def start(self, routes: Routes) -> None:
        """Begins to answer; who connected earlier has waited."""
        self.routes = routes
        threading.Thread(target=self.serve_forever, name="accept", daemon=True).start()

    def server_bind(self) -> None:
        """Binds without asking DNS for the name of 127.0.0.1, as the parent would."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hung up is everyday life here; all else is a bug and is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Reads one request, asks the routes, writes one answer."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60  # an idle connection gives its thread back
    wbufsize = -1  # head and body in one segment, so no delayed acknowledgement
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Any request."""
        body = self._body()
        if body is None:
            return self._send(
                answers.error(413, "invalid_request", "The body has no length or is too long.")
            )
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(method=self.command, target=self.path, headers=headers, body=body)
        return self._send(self.server.routes.answer(request))

    do_POST = do_DELETE = do_GET  # noqa: N815  # names that the parent looks for

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the parent's name
        """Silent: `/books` shows the calls."""

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        chunked = "Transfer-Encoding" in self.headers
        if chunked or not length.isascii() or not length.isdigit() or int(length) > _MAX_BODY:
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
