"""What is to be done later, by one thread: retries of deliveries, and payments that come back."""

import heapq
import itertools
import threading
import time
import traceback
from collections.abc import Callable


class Agenda:
    """Actions by the time they are due. An action must be short: the next one waits for it."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._tie = itertools.count()  # two that are due at once stay in order
        self._changed = threading.Condition()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Does `action` in so many seconds; at once if the time is already over."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._tie), action))
            self._changed.notify()

    def start(self) -> None:
        """Starts the thread; it ends with the process."""
        threading.Thread(target=self._run, name="agenda", daemon=True).start()

    def _run(self) -> None:
        while True:
            action = self._next()
            try:
                action()
            except Exception:  # noqa: BLE001  # one bad action must not end all later ones
                traceback.print_exc()

    def _next(self) -> Callable[[], None]:
        with self._changed:
            while (wait := self._until_due()) is None or wait > 0:
                self._changed.wait(wait)
            return heapq.heappop(self._due)[2]

    def _until_due(self) -> float | None:
        return self._due[0][0] - time.monotonic() if self._due else None
