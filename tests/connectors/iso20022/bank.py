"""mock-bank as a real process: a bank with books of its own, which others wrote.

The oracle is what the bank itself says that it has, asked directly and never through the connector.
"""

import base64
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

USER, PASSWORD = "ledgerline", "a password of this test"
DEBTOR = {"name": "ACME Corporation", "iban": "NL41MOCK0000000001", "bic": "MOCKNL2A"}
CREDITOR = "DE89370400440532013000"
_HOLIDAYS = {(1, 1), (5, 1), (12, 25), (12, 26)}  # fixed ones of TARGET; Easter is far from a test


class MockBank:
    """One bank on one port; it keeps its books over a stop."""

    def __init__(self, folder: Path, *, password: str = PASSWORD) -> None:
        self._books = folder / "bank.sqlite"
        self._port = free_port()
        self.password = password
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def start(self) -> None:
        """Starts it on a morning on which banks work, and waits until it answers."""
        command = [
            *(sys.executable, "-m", "mockbank", "-q"),
            *("--port", str(self._port), "--db", str(self._books)),
            *("--auth", f"{USER}:{self.password}", "--clock", f"{_working_day()}T09:00"),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while True:
            try:
                self.ask("GET", "/_mock/health")
            except OSError:
                assert self.process.poll() is None, "mock-bank did not start"
                assert time.monotonic() < deadline, "mock-bank does not answer"
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=10)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        token = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
        headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def behave(self, behaviour: str, **parameters: Any) -> None:
        """How the account that pays is treated from now on."""
        self.ask(
            "PATCH", "/_mock/accounts/ACME", {"behaviour": behaviour, "parameters": parameters}
        )

    def advance(self, days: int) -> None:
        self.ask("POST", f"/_mock/advance?days={days}")

    def payments(self, reference: str) -> list[dict[str, Any]]:
        """All payments with this end-to-end id, by the bank's own books."""
        return [p for p in self.ask("GET", "/_mock/payments") if p["end_to_end_id"] == reference]

    def paid(self, reference: str) -> int:
        """How often it was paid, whatever became of it later."""
        return sum(p["booked_at"] is not None for p in self.payments(reference))

    def files(self) -> list[dict[str, Any]]:
        """The files that were posted, newest first, each with the status of its answer."""
        found = self.ask("GET", "/_mock/requests?path=/payments")
        return [r for r in found if r["method"] == "POST"]

    def settings(self, url: str, **given: Any) -> dict[str, Any]:
        """The entry in FULFILMENT["CONNECTORS"] that reaches it, directly or through a proxy."""
        return {
            "CLASS": "fulfilment.connectors.iso20022.Iso20022Connector",
            "URL": url,
            "USER": USER,
            "PASSWORD": self.password,
            "DEBTOR": DEBTOR,
            **given,
        }


@contextmanager
def running(folder: Path) -> Iterator[MockBank]:
    bank = MockBank(folder)
    try:
        yield bank
    finally:
        bank.stop()


def _working_day() -> date:
    """Today or the next day on which a payment is booked at once. Never in our past: the files say
    that they are to be carried out today.
    """
    day = date.today() + timedelta(days=1)  # noqa: DTZ011  # a day of margin to every time zone
    while day.weekday() > 2 or (day.month, day.day) in _HOLIDAYS:
        day += timedelta(days=1)
    return day


def free_port() -> int:
    """One on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
