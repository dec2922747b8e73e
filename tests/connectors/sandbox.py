"""The sandbox provider as a real process, for any test: `from tests.connectors.sandbox import sandbox`.

Its books are the oracle: what was really paid, whatever was answered.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fulfilment.connectors.base import Instruction
from fulfilment.connectors.sandbox import SandboxConnector

SECRET = "a secret of this test"
ACCOUNT = "0123456789"


class Sandbox:
    """One provider process, its address and its books."""

    def __init__(
        self,
        books_file: Path,
        *,
        port: int = 0,
        secret: str = SECRET,
        options: tuple[str, ...] = (),
    ) -> None:
        """`options`: more of the command line, such as `--webhook-url`."""
        self.books_file = books_file
        self.secret = secret
        self.options = options
        self._port = port
        self.start()

    def start(self) -> None:
        """Starts it and waits until it listens; on the same port after a stop."""
        self.process = subprocess.Popen(
            command("--port", str(self._port), "--books", str(self.books_file), *self.options),
            env=os.environ | {"SANDBOX_SECRET": self.secret},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        ready = self.process.stdout.readline()
        assert ready.startswith("sandbox provider listening on http://"), (
            f"the provider did not start; it said {ready!r} (its reason is on stderr)"
        )
        self.url = ready.split()[-1]
        self._port = int(self.url.rsplit(":", 1)[1])

    def stop(self, *, kill: bool = False) -> int:
        """Ends the process by SIGTERM (or SIGKILL) and gives its exit code."""
        if self.process.poll() is None:
            self.process.kill() if kill else self.process.terminate()
        code = self.process.wait(timeout=10)
        assert self.process.stdout
        self.process.stdout.close()
        return code

    def books(self) -> dict[str, Any]:
        """The statement: payments, count and totals of money that left, calls."""
        return self.request("GET", "/books?format=json")

    def payments(self, reference: str) -> list[dict[str, Any]]:
        """What is booked under one reference."""
        return [p for p in self.books()["payments"] if p["reference"] == reference]

    def calls(self, reference: str) -> list[dict[str, Any]]:
        """The calls of one reference, oldest first."""
        return [c for c in self.books()["calls"] if c["reference"] == reference]

    def faults(self) -> list[dict[str, Any]]:
        """The rules in force."""
        return list(self.request("GET", "/faults")["faults"])

    def set_fault(self, fault: str, **members: Any) -> dict[str, Any]:
        """Sets a rule: `set_fault("hang", seconds=2, times=1, match={"account": …})`."""
        return self.request("POST", "/faults", {"fault": fault, **members})

    def clear_faults(self, query: str = "") -> int:
        """Ends all rules, or those that fit `query` (`fault=hang`)."""
        return int(self.request("DELETE", f"/faults?{query}")["removed"])

    def events(self, reference: str) -> list[dict[str, Any]]:
        """What is reported of one reference, each with `delivered_at`."""
        return self.ask("GET", f"/events?reference={reference}")

    def log(self, reference: str) -> list[dict[str, Any]]:
        """The deliveries about one reference, as the provider saw them."""
        return self.ask("GET", f"/deliveries?reference={reference}")

    def make_event(self, kind: str, data: dict[str, Any], **members: Any) -> dict[str, Any]:
        """Makes any event; it was delivered once when this returns: see its `status`."""
        return self.request("POST", "/events", {"type": kind, "data": data, **members})

    def deliver(self, event_id: str, *, times: int = 1) -> list[int | None]:
        """Delivers an event so many times at once; the statuses it met."""
        return self.ask("POST", f"/events/{event_id}/deliver?times={times}")

    def settings(self, **changes: Any) -> dict[str, Any]:
        """What `FULFILMENT["CONNECTORS"]` needs to reach this provider."""
        given = {"CLASS": SandboxConnector, "URL": self.url, "SECRET": self.secret}
        return given | changes

    def connector(self, **changes: Any) -> SandboxConnector:
        """A connector to this provider."""
        return SandboxConnector(self.settings(**changes))

    def request(self, method: str, path: str, members: Any = None) -> dict[str, Any]:
        """One call outside the API under test, for an object."""
        return dict(self.ask(method, path, members))

    def ask(self, method: str, path: str, members: Any = None) -> Any:
        """One call outside the API under test."""
        data = None if members is None else json.dumps(members).encode()
        request = urllib.request.Request(self.url + path, method=method, data=data)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def command(*options: str) -> list[str]:
    """The command that runs a provider."""
    return [sys.executable, "-m", "fulfilment.connectors.sandbox.provider", *options]


def instruction(reference: str, **changes: Any) -> Instruction:
    """A payment of NGN 100.00 to one account, with changes: amount, account, narration, seconds."""
    return Instruction(
        reference=reference,
        amount=changes.get("amount", 100_00),
        currency=changes.get("currency", "NGN"),
        instruction={
            "bank": changes.get("bank", "058"),
            "account": changes.get("account", ACCOUNT),
            "narration": changes.get("narration", "INV-1001"),
        },
        deadline=timedelta(seconds=changes.get("seconds", 10)),
    )


def paid(sandbox: Sandbox) -> int:
    """How many payments left the provider."""
    return int(sandbox.books()["count"])


def expect(said: Any, kind: type, cause: str) -> None:
    """Fails with the cause in words unless the connector said an outcome of this kind."""
    assert isinstance(said, kind), f"{cause}: expected {kind.__name__}, got {said!r}"


def until(condition: Callable[[], Any], *, what: str, seconds: float = 10) -> None:
    """Waits for something another process does; fails with `what` it waited for."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds:g} s in vain: {what}"
        time.sleep(0.01)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A provider with empty books on a free port; ended afterwards."""
    provider = Sandbox(tmp_path / "sandbox-books.jsonl")
    try:
        yield provider
    finally:
        provider.stop()
