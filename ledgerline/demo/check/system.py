"""The running demo, seen from outside: its API, its database, the provider's books."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil  # type: ignore[import-untyped]
import psycopg
from psycopg.rows import dict_row


class NoDemo(Exception):
    """There is no running demo to check."""


@dataclass(frozen=True, slots=True)
class System:
    """What `.demo/demo.json` says, with the few questions the stories ask."""

    folder: Path
    base_url: str
    sandbox_url: str
    database_url: str
    redis_url: str
    broker_url: str
    users: dict[str, dict[str, str]]
    staff: dict[str, dict[str, str]]

    def rows(self, sql: str, **parameters: Any) -> list[dict[str, Any]]:
        """The rows of one query on Ledgerline's own database."""
        with psycopg.connect(self.database_url, row_factory=dict_row) as connection:
            return connection.execute(sql, parameters).fetchall()

    def books(self) -> dict[str, dict[str, Any]]:
        """The provider's own books of what it paid out: reference -> payment. The oracle."""
        payments = [entry for entry in self._entries() if entry["kind"] != "checkout"]
        by_reference = {payment["reference"]: payment for payment in payments}
        if len(by_reference) != len(payments):
            raise AssertionError(
                "the provider's books hold one reference twice: somebody was paid twice"
            )
        return by_reference

    def checkouts(self, reference: str) -> list[dict[str, Any]]:
        """The checkouts that the provider has under this reference."""
        own = (entry for entry in self._entries() if entry["kind"] == "checkout")
        return [entry for entry in own if entry["reference"] == reference]

    def _entries(self) -> list[dict[str, Any]]:
        answer = httpx2.get(f"{self.sandbox_url}/books", params={"format": "json"}, timeout=10)
        answer.raise_for_status()
        return list(answer.json()["payments"])

    def processes(self, role: str) -> list[psutil.Process]:
        """The processes of a role that live now; read again each time, for killed ones come back."""
        pids = json.loads((self.folder / "demo.json").read_text())["pids"]
        return [member for pid in pids.get(role, []) for member in _with_children(pid)]

    def set_fault(self, **fault: Any) -> None:
        """Tell the provider to misbehave."""
        httpx2.post(f"{self.sandbox_url}/faults", json=fault, timeout=10).raise_for_status()

    def end_faults(self, **criteria: str) -> None:
        """Tell the provider to behave, as far as the faults with these words go."""
        url = f"{self.sandbox_url}/faults"
        httpx2.delete(url, params=criteria, timeout=10).raise_for_status()


def connections(process: psutil.Process) -> list[Any]:
    """Its TCP connections; none of a process that is gone.

    One that was killed and not yet collected by its parent has none either, and refuses to be asked
    by an ordinary user.
    """
    try:
        return list(process.net_connections("tcp"))
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def load(folder: Path) -> System:
    """The demo that runs from this folder.

    Raises `NoDemo` with a remedy where none does.
    """
    file = folder / "demo.json"
    try:
        facts = json.loads(file.read_text())
    except FileNotFoundError as error:
        raise NoDemo(
            f"{file} does not exist. Start `make demo` in another terminal first."
        ) from error
    names = (name for name in System.__dataclass_fields__ if name != "folder")
    system = System(folder=folder, **{name: facts[name] for name in names})
    try:
        httpx2.get(f"{system.base_url}/healthz", timeout=5).raise_for_status()
    except httpx2.HTTPError as error:
        raise NoDemo(
            f"{file} is there, but nothing answers at {system.base_url}. Start `make demo` again."
        ) from error
    return system


def _with_children(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
