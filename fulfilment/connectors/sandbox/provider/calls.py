"""The log of calls, for the oracle."""

import threading
from collections import deque
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

# A demo that polls for days must not eat the machine's memory.
_KEPT = 10_000


@dataclass(slots=True)
class Call:
    """One call as the oracle shows it; `answer` is empty while it is being decided."""

    at: str
    method: str
    path: str
    reference: str = ""
    fault: str = ""
    answer: str = ""


class Calls:
    """The latest calls, oldest first; thread-safe."""

    def __init__(self) -> None:
        self._calls: deque[Call] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()

    def open(self, method: str, path: str) -> Call:
        """Logs that a call arrived."""
        call = Call(at=datetime.now(UTC).isoformat(), method=method, path=path)
        with self._lock:
            self._calls.append(call)
        return call

    def listing(self) -> list[dict[str, Any]]:
        """All that are kept."""
        with self._lock:
            return [asdict(call) for call in self._calls]
