"""What an outcome does to the project's own books, registered per kind of fulfilment."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fulfilment.errors import UnknownKind

if TYPE_CHECKING:  # a project names these handlers in its apps.py, before there are any models
    from fulfilment.models import Evidence, Fulfilment

Handler: TypeAlias = "Callable[[Fulfilment, Evidence], None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """What a correction did to the project's books."""

    note: str  # for the case: what was taken from where, what the client was told
    unsettled: bool = False  # something is left for a person to see to; a case of its own says so


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """How a kind takes late truth: given up, and it happened all the same. Rules as `Handlers`.

    A fact is never refused: what does not fit where it belongs goes where it can be found again.
    """

    twin: "Callable[[Fulfilment], str]"  # a later payment for the same thing that lives, in words
    on_corrected: "Callable[[Fulfilment, Evidence], Corrected]"
    on_paid_twice: "Callable[[Fulfilment, Evidence], str]"  # there is a twin; returns a note


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """Run in the transaction of the verdict: the database only, no network, no waiting.

    An exception undoes the verdict, keeps the evidence and opens a case. Each runs once per
    verdict that stands; one that was undone is tried again.
    """

    on_fulfilled: Handler
    on_failed: Handler
    on_reversed: Handler
    on_cancelled: "Callable[[Fulfilment], None] | None" = None  # nothing was sent: no evidence
    corrections: Corrections | None = None  # without them late truth stays a case
    # Shall what failed be sent again under a new reference, instead of `on_failed`? At most
    # GENERATIONS in all. Asked before the failure is written, on the evidence for it.
    again: "Callable[[Fulfilment, Evidence], bool] | None" = None


_registered: dict[str, Handlers] = {}


def register(kind: str, handlers: Handlers) -> None:
    """Name the handlers of `kind`, once, in an `AppConfig.ready`. Again: the last one counts."""
    _registered[kind] = handlers


def handlers_of(kind: str) -> Handlers:
    """The handlers of `kind`; raises `UnknownKind`."""
    try:
        return _registered[kind]
    except KeyError:
        raise UnknownKind(f"No handlers are registered for {kind!r}.") from None
