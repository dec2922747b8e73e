"""Every function that is gated in this process, for the system checks."""

from collections.abc import Sequence
from dataclasses import dataclass

from idempotency.gate.identity import Ungated
from idempotency.gate.naming import Naming


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@gated` was told about one function."""

    action: str
    function: str  # its dotted path
    target: Naming | Ungated
    key: Naming | None


_declared: dict[str, Declaration] = {}


def declare(declaration: Declaration) -> None:
    """Remember it; a module that is loaded again declares it again."""
    _declared[declaration.function] = declaration


def all_declared() -> Sequence[Declaration]:
    """In the order in which they were declared."""
    return list(_declared.values())
