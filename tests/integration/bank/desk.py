"""A payment provider's desk over HTTP, with books of its own: the oracle of the payment tests."""

import json
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fulfilment.connectors import http
from fulfilment.connectors.base import Declined, NoInformation, NotFound, NotSent, Refused, Unknown


class Provider(ThreadingHTTPServer):
    """Opens a checkout once per reference; `will` says what it does with the next openings."""

    daemon_threads = True

    def __init__(self) -> None:
        self.books: dict[str, dict[str, Any]] = {}
        self.openings: Counter[str] = Counter()
        self.questions = 0
        self.will: deque[str] = deque()
        self.can_be_asked = True
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def settings(self) -> dict[str, Any]:
        """What CHECKOUT_DESK needs to reach this provider."""
        return {"CLASS": HttpDesk, "URL": f"http://127.0.0.1:{self.server_port}"}

    def open(self, order: dict[str, Any], *, fault: str) -> tuple[int, dict[str, Any]]:
        with self._lock:
            self.openings[order["reference"]] += 1
            if fault == "refuse":
                return 503, {"error": "rate_limited"}
            if fault == "decline":
                return 402, {"error": "declined"}
            known = self.books.get(order["reference"])
            if known is not None:
                return 200, known
            name = f"chk_{len(self.books) + 1}"
            made = order | {"id": name, "url": f"https://pay.example/{name}", "status": "open"}
            made |= {"amount": made["amount"] + 1} if fault == "wrong_amount" else {}
            self.books[order["reference"]] = made
            return 201, made


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.server.will.popleft() if self.server.will else "ok"
        status, said = self.server.open(order, fault=fault)
        if fault == "lose_answer":
            self.close_connection = True
            return
        self._answer(500 if fault == "error" else status, said)

    def do_GET(self) -> None:
        self.server.questions += 1
        known = self.server.books.get(self.path.rsplit("/", 1)[1])
        if not self.server.can_be_asked:
            self._answer(503, {})
        else:
            self._answer(200 if known else 404, known or {})

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def _answer(self, status: int, said: Mapping[str, Any]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass(frozen=True)
class Opened:
    id: str
    url: str
    amount: int
    currency: str
    body: bytes


class HttpDesk:
    """The client, as `ledgerline.bank.checkouts.Desk` wants it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._url = settings["URL"]

    def open(
        self, reference: str, *, amount: int, currency: str, metadata: Any, deadline: timedelta
    ) -> Opened | Declined | NotSent | Refused | Unknown:
        order = {"reference": reference, "amount": amount, "currency": currency}
        reply = http.call(
            "POST", self._url, deadline=deadline, json_body=order | {"metadata": dict(metadata)}
        )
        if not isinstance(reply, http.Reply):
            return reply
        if reply.status == 402:
            return Declined(reason="declined")
        if reply.status == 503:
            return Refused(reason="rate_limited")
        return _opened(reply) if reply.status in {200, 201} else Unknown(reason="HTTP 500")

    def find(self, reference: str) -> Opened | Declined | NotFound | NoInformation:
        reply = http.call("GET", f"{self._url}/{reference}", deadline=timedelta(seconds=2))
        if not isinstance(reply, http.Reply):
            return NoInformation(reason=reply.reason)
        if reply.status == 404:
            return NotFound()
        return _opened(reply) if reply.status == 200 else NoInformation(reason="HTTP 503")


def _opened(reply: http.Reply) -> Opened:
    said = reply.json()
    return Opened(said["id"], said["url"], said["amount"], said["currency"], reply.body)


@contextmanager
def provider() -> Iterator[Provider]:
    """One that listens, for as long as the block."""
    running = Provider()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield running
    finally:
        running.shutdown()
        thread.join()
        running.server_close()
