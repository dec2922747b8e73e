"""The other system: its own books are the oracle, whatever we have on record."""

from dataclasses import dataclass, field

from idempotency.contract import Answer, Record
from idempotency.recovery import Done, NotDone, Recovery, Unknown

FOUND = Answer(201, (), b"found")


@dataclass
class Provider:
    """One reference in its books. If it `recognises` it, a second call adds nothing."""

    recognises: bool
    effects: int = 0
    heard: set[str] = field(default_factory=set)  # of whose body it was ever told

    def call(self, fingerprint: str) -> None:
        self.heard.add(fingerprint)
        self.effects = 1 if self.recognises else self.effects + 1

    def ask(self, mood: str, record: Record) -> Recovery:
        """A view's `recover` hook. It says NotDone only where a late call could do no harm."""
        if mood == "fails":
            raise ConnectionError
        if mood == "silent" or (not self.effects and not self.recognises):
            return Unknown()
        return Done(lambda: self._told(mood)) if self.effects else NotDone()

    @staticmethod
    def _told(mood: str) -> Answer:
        return Answer(503, (), b"no answer") if mood == "nonsense" else FOUND
