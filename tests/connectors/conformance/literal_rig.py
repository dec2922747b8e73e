"""The literal provider itself: a real HTTP server with books, which shares nothing with its connector."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fulfilment.reconcile.evidence import Finding
from fulfilment.testing.conformance import Fault, HttpRig

_WORDS = {Finding.DONE: "SUCCESSFUL", Finding.NOT_DONE: "FAILED", Finding.REVERSED: "RETURNED"}


class Books:
    """What it was told, what it did, and how it is to behave."""

    def __init__(self) -> None:
        self.key = "key of this provider"
        self.transfers: dict[str, dict[str, Any]] = {}
        self.done: list[str] = []
        self.spoilt: set[str] = set()
        self.fault: Fault | None = None

    def take(self, order: dict[str, Any]) -> tuple[int, Any]:
        reference = order["reference"]
        if reference in self.spoilt or self.fault is Fault.CACHED_ERROR:
            self.spoilt.add(reference)
            return 500, {"message": "kept for this reference"}
        if reference not in self.transfers:
            named = f"account ending {order.pop('account')[-4:]}"
            self.transfers[reference] = order | {"recipient": named, "status": "NEW"}
            self.transfers[reference]["will"] = self.fault
        return self.find(reference)

    def find(self, reference: str) -> tuple[int, Any]:
        found = self.transfers.get(reference)
        if found is None:
            return 404, {"message": "not found"}
        return 200, {name: value for name, value in found.items() if name != "will"}

    def settle(self, reference: str) -> None:
        found = self.transfers.get(reference)
        if found and found["status"] == "NEW":
            declined = found["will"] is Fault.DECLINED
            found["status"] = "FAILED" if declined else "SUCCESSFUL"
            if not declined:
                self.done.append(reference)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    books: Books


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(lambda books: books.take(json.loads(body)))

    def do_GET(self) -> None:
        self._answer(lambda books: books.find(self.path.rpartition("/")[2]))

    def _answer(self, decide: Any) -> None:
        books = self.server.books
        let_in = self.headers.get("Authorization") == f"Bearer {books.key}"
        status, said = decide(books) if let_in else (401, {"message": "who are you"})
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the parent's name
        pass


class LiteralHooks:
    """Ids and a word; the header is the secret."""

    secret = "a literal secret, as it is"
    other_secret = "a literal secret, of others"
    timestamped = False
    entry: Mapping[str, Any] = {}

    def event(self, reference: str, said: Finding) -> bytes:
        return json.dumps(
            {"data": {"id": 7, "reference": reference, "status": _WORDS[said]}}
        ).encode()

    def strangers(self, reference: str) -> Mapping[str, bytes]:
        return {}  # its events name neither account nor mode

    def signed(self, body: bytes, *, secret: str, at: datetime) -> Mapping[str, str]:
        return {"verif-hash": secret}


class LiteralRig(HttpRig):
    """Accepts first, decides at `let_settle`."""

    amount = 250_00
    currency = "NGN"
    instruction = {"account": "0690000032"}
    private = ("0690000032",)
    credentials = ("KEY",)

    def __init__(self, url: str, books: Books) -> None:
        super().__init__(url)
        self.books = books
        self.hooks = LiteralHooks()

    def settings(self) -> Mapping[str, Any]:
        return {"URL": self.line.url, "KEY": self.books.key}

    @contextmanager
    def provoke(self, fault: Fault) -> Iterator[None]:
        self.books.fault = fault
        try:
            yield
        finally:
            self.books.fault = None

    def lie(self, fault: Fault, body: bytes) -> bytes:
        said = json.loads(body)
        wrong = {
            Fault.WRONG_AMOUNT: {"amount": said["amount"] - 1},
            Fault.WRONG_CURRENCY: {"currency": "GHS"},
            Fault.WRONG_RECIPIENT: {"recipient": "account ending 9999"},
        }
        return json.dumps(said | wrong[fault]).encode()

    @contextmanager
    def rotate(self) -> Iterator[Mapping[str, str]]:
        before, self.books.key = self.books.key, "another key"
        try:
            yield {"KEY": "another key"}
        finally:
            self.books.key = before

    def let_settle(self, reference: str) -> None:
        self.books.settle(reference)

    def let_return(self, reference: str) -> None:
        self.books.transfers[reference]["status"] = "RETURNED"

    def effects(self, reference: str) -> int:
        return self.books.done.count(reference)


@contextmanager
def running() -> Iterator[LiteralRig]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.books = Books()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    rig = LiteralRig(f"http://127.0.0.1:{server.server_port}", server.books)
    try:
        yield rig
    finally:
        rig.line.close()
        server.shutdown()
        server.server_close()
