"""Acme, the provider of ADDING.md: a real HTTP server with books that shares nothing with its connector.

It takes a transfer first and decides later; it remembers a reference, and an error for it.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Acme:
    """`fault` is how it treats what comes from now on; `done` is what really happened."""

    def __init__(self) -> None:
        self.key = "the key of Acme"
        self.fault = ""
        self.done: list[str] = []
        self._transfers: dict[str, dict[str, Any]] = {}
        self._declines: set[str] = set()
        self._spoilt: set[str] = set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.acme = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, order: dict[str, Any]) -> tuple[int, Any]:
        """A transfer is asked for."""
        reference = order["reference"]
        if self.fault == "turned_away":
            return 429, {"message": "too many requests, nothing begun"}
        if self.fault == "cached_error":
            self._spoilt.add(reference)
        if reference in self._spoilt:
            return 500, {"message": "kept for this reference"}
        if reference not in self._transfers:
            named = f"account ending {order.pop('account')[-4:]}"
            self._transfers[reference] = order | {"recipient": named, "status": "NEW"}
            if self.fault == "declined":
                self._declines.add(reference)
        return self.find(reference)

    def find(self, reference: str) -> tuple[int, Any]:
        """A transfer is asked about."""
        found = self._transfers.get(reference)
        return (200, found) if found else (404, {"message": "not found"})

    def settle(self, reference: str) -> None:
        """What was taken is decided."""
        found = self._transfers.get(reference)
        if found is None or found["status"] != "NEW":
            return
        if reference in self._declines:
            found["status"] = "FAILED"
            return
        found["status"] = "SUCCESSFUL"
        self.done.append(reference)

    def give_back(self, reference: str) -> None:
        """What was done comes back."""
        self._transfers[reference]["status"] = "RETURNED"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    acme: Acme


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(lambda acme: acme.take(order))

    def do_GET(self) -> None:
        self._answer(lambda acme: acme.find(self.path.rpartition("/")[2]))

    def _answer(self, decide: Any) -> None:
        acme = self.server.acme
        let_in = self.headers.get("Authorization") == f"Bearer {acme.key}"
        status, said = decide(acme) if let_in else (401, {"message": "who are you"})
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the parent's name
        pass
