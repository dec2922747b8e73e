"""What stands in for a connector that was removed, renamed or cannot be built any more. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fulfilment.connectors.base import (
    Capabilities,
    Dedupe,
    Instruction,
    LookUp,
    NoInformation,
    NotSent,
    Outcome,
)

# Of a provider that nobody can read the promises of, the worst is true: nothing is sent again, and
# nothing is learnt, so what was sent goes to a person.
PESSIMISTIC = Capabilities(dedupe=Dedupe.NONE, errors_cached=True, lookup_by_reference=False)


@dataclass(frozen=True, slots=True)
class Missing:
    """Sends nothing, knows nothing and promises nothing; its rows are judged all the same."""

    reason: str

    @property
    def capabilities(self) -> Capabilities:
        """The worst."""
        return PESSIMISTIC

    def send(self, instruction: Instruction, /) -> Outcome:
        """Nothing leaves."""
        return NotSent(reason=self.reason)

    def recipient(self, instruction: Mapping[str, Any], /) -> str:
        """Nobody names anybody."""
        return ""

    def look_up(self, reference: str, /) -> LookUp:
        """Nobody can be asked."""
        return NoInformation(reason=self.reason)
