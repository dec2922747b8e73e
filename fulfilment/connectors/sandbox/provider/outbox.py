"""Which events there are and which arrived, kept in a file beside the books."""

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fulfilment.connectors.sandbox.provider import events
from fulfilment.connectors.sandbox.provider.events import Event
from fulfilment.connectors.sandbox.provider.journal import Journal


class Outbox:
    """All events of one provider; thread-safe.

    The books hold the events of payments, this file those that a test made, and the receipts. A
    receipt that a crash or a full disk loses only costs another delivery.
    """

    def __init__(self, path: Path, *, booked: Iterable[Event], seed: str = "") -> None:
        """Opens or creates the file. Raises `BooksUnusable`."""
        self._seed = seed
        self._events = {event.key: event for event in booked}
        self._delivered: dict[str, str] = {}
        self._lock = threading.Lock()
        self._journal = Journal(path, read=self._read)

    def add(self, event: Event) -> None:
        """Takes up what the books have just recorded."""
        with self._lock:
            self._events[event.key] = event

    def make(self, kind: str, data: Mapping[str, Any], *, event_id: str = "") -> Event:
        """Any event at all, on disk before this returns; an id may be used again. Raises OSError."""
        with self._lock:
            made = events.id_of("made", str(len(self._events)), seed=self._seed)
            event = Event(id=event_id or made, type=kind, created_at=_now(), data=data)
            self._journal.append({"event": asdict(event)})
            self._events[event.key] = event
            return event

    def find(self, event_id: str) -> Event | None:
        """The newest event with this id."""
        with self._lock:
            found = [event for event in self._events.values() if event.id == event_id]
            return found[-1] if found else None

    def receive(self, event: Event) -> None:
        """Records that it arrived."""
        with self._lock:
            if event.key in self._delivered:
                return
            at = self._delivered[event.key] = _now()
            with suppress(OSError):
                self._journal.append({"delivered": event.key, "at": at})

    def has_arrived(self, event: Event) -> bool:
        """Did the receiver ever answer 2xx?"""
        with self._lock:
            return event.key in self._delivered

    def outstanding(self) -> list[Event]:
        """What has not arrived yet, oldest first."""
        with self._lock:
            return [e for e in self._events.values() if e.key not in self._delivered]

    def listing(self) -> list[dict[str, Any]]:
        """All events, oldest first, each with the time it arrived or None."""
        with self._lock:
            return [
                event.content | {"delivered_at": self._delivered.get(key)}
                for key, event in self._events.items()
            ]

    def close(self) -> None:
        """Waits for a receipt in progress, then closes the file; who comes later waits in vain."""
        self._lock.acquire()  # never released: the process ends next
        self._journal.close()

    def _read(self, line: Mapping[str, Any]) -> None:
        if "event" in line:
            event = Event(**line["event"])
            self._events[event.key] = event
        else:
            self._delivered[line["delivered"]] = line["at"]


def _now() -> str:
    return datetime.now(UTC).isoformat()
