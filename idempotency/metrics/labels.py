"""Labels whose values are the clients' to choose, bounded. Pure."""

from threading import Lock

OTHER = "other"


class Bounded:
    """The first `limit` different values of a label in this process; all later ones are `other`.

    Without it a client that changes its name with each request would fill the monitoring's memory.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()
        self._lock = Lock()

    def __call__(self, value: str) -> str:
        """The value, or `other`."""
        with self._lock:
            if value in self._known:
                return value
            if len(self._known) >= self._limit:
                return OTHER
            self._known.add(value)
            return value
