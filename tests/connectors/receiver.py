"""A receiver of the provider's events: a small real server that checks each signature.

It checks by the reference library of Standard Webhooks, so that our own code never vouches for
itself.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.connectors.sandbox import until

SIGNING_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One delivery with a good signature, as it arrived."""

    id: str
    body: bytes
    at: float  # monotonic

    @property
    def event(self) -> dict[str, Any]:
        """The body's members."""
        return dict(json.loads(self.body))


class Receiver:
    """Takes deliveries and answers with what `answers` says: a status for each, by default 200."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.refused: list[str] = []  # why a delivery had no good signature
        self.answer: Callable[[Delivery], int] = lambda _: 200
        self._start(0)

    @property
    def url(self) -> str:
        """Where events are to be delivered."""
        return f"http://127.0.0.1:{self._port}/hooks?from=sandbox"

    def about(self, reference: str) -> list[Delivery]:
        """The deliveries about one reference, in the order they came."""
        return [d for d in list(self.deliveries) if d.event["data"].get("reference") == reference]

    def wait_for(self, reference: str, *, count: int = 1) -> list[Delivery]:
        """Waits for so many deliveries about a reference and gives all there are."""
        until(
            lambda: len(self.about(reference)) >= count,
            what=f"{count} deliveries about {reference} (do the courier's threads live?)",
        )
        return self.about(reference)

    def answer_in_turn(self, *statuses: int) -> None:
        """The first deliveries get these, all later ones the last."""
        left = list(statuses)
        self.answer = lambda _: left.pop(0) if len(left) > 1 else left[0]

    def go_down(self) -> None:
        """Nothing listens any more."""
        self._server.shutdown()
        self._server.server_close()

    def come_up(self) -> None:
        """Listens again at the same address."""
        self._start(self._port)

    def take(self, headers: dict[str, str], body: bytes) -> int:
        """One delivery; the status to answer."""
        try:
            Webhook(SIGNING_SECRET).verify(body, headers)
        except Exception as error:  # noqa: BLE001  # whatever the library raises, it refuses
            self.refused.append(f"{type(error).__name__}: {error}")
            return 401
        delivery = Delivery(id=headers["webhook-id"], body=body, at=time.monotonic())
        self.deliveries.append(delivery)
        return self.answer(delivery)

    def _start(self, port: int) -> None:
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.receiver = self
        self._port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    receiver: Receiver


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.send_response(self.server.receiver.take(headers, body))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the parent's name
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that answers 200; afterwards no delivery may have had a bad signature."""
    running = Receiver()
    yield running
    running.go_down()
    assert running.refused == [], f"the reference library refuses our signatures: {running.refused}"
