"""How fast one run of look-ups may go, per connector."""

import time
from collections import defaultdict
from collections.abc import Sequence

GIVE_UP_AFTER = 3  # answers without information in a row: the provider is down or limits us


class Pacer:
    """Spaces the questions of one run and remembers which connectors give no information."""

    def __init__(self, *, per_second: float) -> None:
        self._distance = 1 / per_second
        self._free_at: dict[str, float] = {}
        self._unanswered: dict[str, int] = defaultdict(int)

    @property
    def tired(self) -> Sequence[str]:
        """The connectors that are left alone for the rest of this run."""
        return [name for name, count in self._unanswered.items() if count >= GIVE_UP_AFTER]

    def wait(self, connector: str) -> None:
        """Sleep until this connector may be asked again."""
        pause = self._free_at.get(connector, 0.0) - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        self._free_at[connector] = time.monotonic() + self._distance

    def owe(self, connector: str) -> None:
        """One question more was asked than `wait` knows of."""
        self._free_at[connector] += self._distance

    def heard(self, connector: str, *, informed: bool) -> None:
        """Note whether the answer carried any information."""
        self._unanswered[connector] = 0 if informed else self._unanswered[connector] + 1
