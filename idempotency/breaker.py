"""When to stop asking what does not answer, and who tries it again. Pure: the clock is passed in.

Closed, everybody asks. One failure opens it: nobody asks until its rest is over. Then it is half
open: one caller asks, the others go on without, until its success closes it or its failure opens it
anew.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class Breaker:
    """One for each thing that may fail, in each process; any number of threads may share it.

    `clock` tells monotonic seconds. Whoever is let in has to say with `worked` or `failed` how it
    went. One that never does (its process was stopped, its thread has died) keeps the others out
    for no more than another rest.
    """

    clock: Callable[[], float]
    _turn: int = 0  # counts the changes: what began before the last one says nothing about now
    _rests_until: float | None = None  # None: closed
    _rest: float = 0.0
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def rests(self) -> bool:
        """Would a caller be turned away now? Looks only: the turn to try again stays free."""
        until = self._rests_until
        return until is not None and self.clock() < until

    def let_in(self) -> int | None:
        """A turn to ask; None: do without."""
        with self._lock:
            if self._rests_until is None:
                return self._turn
            if self.clock() < self._rests_until:
                return None
            return self._open()  # to everybody else; this caller is the one who tries

    def worked(self, turn: int) -> None:
        """The call of that turn came to its end: close again."""
        with self._lock:
            if turn == self._turn:
                self._rests_until = None

    def failed(self, turn: int, *, rest: float) -> None:
        """The call of that turn failed: leave it alone for `rest` seconds."""
        with self._lock:
            if turn == self._turn:
                self._rest = rest
                self._open()

    def reset(self) -> None:
        """As if nothing had ever failed."""
        with self._lock:
            self._turn += 1
            self._rests_until = None

    def _open(self) -> int:
        self._turn += 1
        self._rests_until = self.clock() + self._rest
        return self._turn
