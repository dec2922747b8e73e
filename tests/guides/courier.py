"""A courier's server: it books a parcel once per reference, and may keep silent about it."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Courier(ThreadingHTTPServer):
    """`calls` counts what it was asked to do; with `mute` it does so and hangs up."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Desk)
        self.parcels: dict[str, dict[str, Any]] = {}
        self.calls: Counter[str] = Counter()
        self.mute = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Desk(BaseHTTPRequestHandler):
    server: Courier

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind, name = self.path.split("/")[1:]
        self.server.calls[kind] += 1
        if kind == "parcels":
            booked = {"sku": body["sku"], "parcel": f"P-{name[:8]}"}
            told = self.server.parcels.setdefault(name, booked)
        else:
            told = {"recalled": name}
        if not self.server.mute:
            self._say(200, told)

    def do_GET(self) -> None:
        found = self.server.parcels.get(self.path.split("/")[2])
        self._say(200 if found else 404, found)

    def _say(self, status: int, told: Any) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: a test says what it needs."""


@contextmanager
def running() -> Iterator[Courier]:
    with Courier() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
