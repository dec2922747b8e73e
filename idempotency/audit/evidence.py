"""Everything that was sent and came back, by the name of its step. Pure: no Django, no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass

from idempotency.audit.messages import Answer, Exchange


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the judges read. A step that was not taken has no exchanges, and may have a reason."""

    exchanges: Mapping[str, tuple[Exchange, ...]]
    marker: str
    not_taken: Mapping[str, str]

    def all(self, step: str) -> tuple[Exchange, ...]:
        """Every exchange of the step, in the order in which they were sent."""
        return self.exchanges.get(step, ())

    def answers(self, step: str) -> list[Answer]:
        """The answers of the step, without the exchanges that got none."""
        return [exchange.answer for exchange in self.all(step) if exchange.answer]

    def answer(self, step: str) -> Answer | None:
        """The first answer of the step."""
        return next(iter(self.answers(step)), None)

    def last(self, step: str) -> Answer | None:
        """The last answer of the step: of several tries, the one after which nobody tried again."""
        return next(iter(reversed(self.answers(step))), None)

    def why_not(self, step: str) -> str:
        """Why there is no answer of the step."""
        errors = [exchange.error for exchange in self.all(step) if exchange.error]
        return errors[0] if errors else self.not_taken.get(step, "it was not sent")

    def tells_apart(self) -> bool:
        """True if two different keys got different things, so that a second effect can be seen."""
        first, other = self.answer("first"), self._success("at once")
        return first is not None and other is not None and first.names() != other.names()

    def _success(self, step: str) -> Answer | None:
        return next((answer for answer in self.answers(step) if answer.succeeded), None)
