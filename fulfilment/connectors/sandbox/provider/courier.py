"""Delivers events until the receiver answers 2xx, on threads of its own."""

import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from fulfilment.connectors.sandbox.provider.agenda import Agenda
from fulfilment.connectors.sandbox.provider.endpoint import Endpoint, Response
from fulfilment.connectors.sandbox.provider.events import Event
from fulfilment.connectors.sandbox.provider.outbox import Outbox

# Seconds between attempts, the last for ever: a demo's receiver may be down for a while, and the
# person who watches it does not wait for hours as real senders do.
RETRY_AFTER = (0.5, 1.0, 2.0, 5.0, 10.0)
MOST_AT_ONCE = 100  # copies of one event
_THREADS = 16  # receivers that hang hold up at most so many others
_LOG_KEPT = 10_000


class Courier:
    """Every event goes out until it arrives once, also after a restart: at least once, never less."""

    def __init__(
        self, outbox: Outbox, agenda: Agenda, *, endpoint: Endpoint | None, delay: float
    ) -> None:
        """`delay`: seconds from the booking to the first attempt. Without endpoint all wait."""
        self._outbox = outbox
        self._agenda = agenda
        self._endpoint = endpoint
        self._delay = delay
        self._due: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._rounds: Counter[str] = Counter()
        self._log: deque[dict[str, Any]] = deque(maxlen=_LOG_KEPT)
        self._arrived = threading.Condition()

    @property
    def can_deliver(self) -> bool:
        """Is there a receiver?"""
        return self._endpoint is not None

    def start(self) -> None:
        """Starts the threads and takes up what an earlier process left; they end with the process."""
        if self._endpoint is None:
            return
        for event in self._outbox.outstanding():
            self._due.put(event)
        for n in range(_THREADS):
            work = partial(self._work, self._endpoint)
            threading.Thread(target=work, name=f"courier-{n}", daemon=True).start()

    def post(self, events: Iterable[Event], *, at_once: bool = False) -> None:
        """Has them delivered; in a moment, so that the answer to the call usually comes first."""
        for event in events:
            self._outbox.add(event)
            self._agenda.after(0 if at_once else self._delay, partial(self._due.put, event))

    def wait(self, events: Iterable[Event], *, seconds: float) -> bool:
        """Waits until all have arrived; False if they have not in time."""
        events = tuple(events)
        with self._arrived:
            return self._arrived.wait_for(
                lambda: all(self._outbox.has_arrived(event) for event in events), seconds
            )

    def deliver(self, event: Event, *, times: int) -> list[int | None]:
        """So many deliveries in the same instant, whether or not it has arrived before."""
        if self._endpoint is None:
            return []
        responses = self._round(self._endpoint, event, copies=times, retry=False)
        return [response.status for response in responses]

    def log(self) -> list[dict[str, Any]]:
        """The latest deliveries, oldest first."""
        with self._arrived:
            return list(self._log)

    def _work(self, endpoint: Endpoint) -> None:
        while True:
            event = self._due.get()
            if not self._outbox.has_arrived(event):
                self._round(endpoint, event, copies=event.copies, retry=True)

    def _round(
        self, endpoint: Endpoint, event: Event, *, copies: int, retry: bool
    ) -> list[Response]:
        """One attempt; it succeeds if one of its copies arrives."""
        with self._arrived:
            self._rounds[event.key] += 1
            attempt = self._rounds[event.key]
        responses = _at_once(partial(endpoint.call, event), copies)
        arrived = any(response.is_receipt for response in responses)
        wait = RETRY_AFTER[min(attempt, len(RETRY_AFTER)) - 1] if retry and not arrived else None
        self._record(event, responses, attempt=attempt, wait=wait)
        if arrived:
            self._receive(event)
        if wait is not None:
            self._agenda.after(wait, partial(self._due.put, event))
        return responses

    def _receive(self, event: Event) -> None:
        self._outbox.receive(event)
        with self._arrived:
            self._arrived.notify_all()

    def _record(
        self, event: Event, responses: list[Response], *, attempt: int, wait: float | None
    ) -> None:
        now = datetime.now(UTC)
        entry = {
            "event_id": event.id,
            "type": event.type,
            "reference": event.reference,
            "attempt": attempt,
            "at": now.isoformat(),
            "next_at": wait and (now + timedelta(seconds=wait)).isoformat(),
        }
        with self._arrived:
            self._log += [entry | {"status": r.status, "error": r.error} for r in responses]


def _at_once(call: Callable[[], Response], copies: int) -> list[Response]:
    """All calls leave in the same instant, or as near as the machine can."""
    if copies == 1:
        return [call()]
    start, responses = threading.Barrier(copies), list[Response]()

    def one() -> None:
        start.wait()
        responses.append(call())

    # Not a pool: that is joined at the end of the process, so a receiver that hangs would hold it.
    threads = [threading.Thread(target=one, daemon=True) for _ in range(copies)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return responses
