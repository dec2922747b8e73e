"""`Prefer: wait=N` (RFC 7240): an answer that waits a moment for the outcome of a transfer.

A request that waits holds no database connection: it sleeps until it is woken. One thread per
process asks for all that wait, by one statement on the primary key, and only while somebody does.
"""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connections

from ledgerline.bank.models import Transfer

log = logging.getLogger(__name__)

# Most outcomes take a second or two, so a tenth of one is not noticed; and it is one index look-up.
ASK_EVERY = 0.1

# Preferences are separated by commas, which a quoted value may contain.
_LONGEST_HEADER = 1000  # quotes that never close take the square of it
_PREFERENCE = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')


class Waited(Enum):
    """How the waiting ended."""

    NOT_AT_ALL = "not at all"  # enough others wait already
    IN_VAIN = "in vain"
    DECIDED = "decided"


def preferred(header: str) -> int:
    """The seconds that a `Prefer` header wants to wait, at most `LONGEST_WAIT`; 0 without a wish.

    Of several only the first counts, and what cannot be read is no wish (RFC 7240, section 2).
    """
    if len(header) > _LONGEST_HEADER:
        return 0
    for preference in _PREFERENCE.findall(header):
        name, _, value = preference.partition(";")[0].partition("=")
        if name.strip().lower() == "wait":
            return _seconds(value.strip().strip('"'))
    return 0


def for_outcome(transfer_id: UUID, *, seconds: int) -> Waited:
    """Wait for the transfer's outcome, so many seconds at most. Call outside any transaction.

    Comes back at once where a quarter of the web threads waits already: they would keep everybody
    else out.
    """
    with _room.seat(transfer_id) as woken:
        if woken is None:
            return Waited.NOT_AT_ALL
        return Waited.DECIDED if woken.wait(seconds) else Waited.IN_VAIN


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return 0
    return min(int(text), int(settings.LONGEST_WAIT.total_seconds()))


class _Room:
    """Who waits in this process, and the one thread that asks for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seats: list[tuple[UUID, threading.Event]] = []
        self._asking = False

    @contextmanager
    def seat(self, transfer_id: UUID) -> Iterator[threading.Event | None]:
        """An event that is set with the outcome; None where no seat is free."""
        taken = (transfer_id, threading.Event())
        if not self._enter(taken):
            yield None
            return
        try:
            yield taken[1]
        finally:
            with self._lock:
                self._seats.remove(taken)

    def _enter(self, seat: tuple[UUID, threading.Event]) -> bool:
        if not _let_go_of_connections():
            return False
        with self._lock:
            if len(self._seats) >= settings.WAITING_THREADS:
                return False
            self._seats.append(seat)
            if not self._asking:
                self._asking = True
                threading.Thread(target=self._ask, name="outcomes", daemon=True).start()
        return True

    def _ask(self) -> None:
        pause = threading.Event()
        try:
            while seats := self._still_asking():
                self._wake(seats)
                pause.wait(ASK_EVERY)
        except Exception:
            log.exception("outcomes not asked for", extra={"action": "waiting_broken"})
            with self._lock:  # or nobody would ever ask again in this process
                self._asking = False
        finally:
            connections.close_all()

    def _still_asking(self) -> list[tuple[UUID, threading.Event]]:
        """Those who wait; with nobody left the thread ends, and the next who comes starts another."""
        with self._lock:
            self._asking = bool(self._seats)
            return list(self._seats)

    def _wake(self, seats: list[tuple[UUID, threading.Event]]) -> None:
        try:
            rows = Transfer.objects.filter(pk__in={pk for pk, _ in seats})
            decided = set(rows.exclude(state=Transfer.State.PENDING).values_list("pk", flat=True))
        except (OperationalError, InterfaceError):  # they go on waiting, and then get their 202
            log.warning("outcomes not asked for", extra={"action": "waiting_failed"}, exc_info=True)
            connections.close_all()
            return
        for pk, woken in seats:
            if pk in decided:
                woken.set()


_room = _Room()


def _let_go_of_connections() -> bool:
    """Close this thread's connections; False inside a transaction, which must not be waited in."""
    open_ones = connections.all(initialized_only=True)
    if any(connection.in_atomic_block for connection in open_ones):
        return False
    for connection in open_ones:
        connection.close()
    return True
