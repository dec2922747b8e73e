"""Most of a rig, for a provider that is called by HTTP: the faults of the line come with it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import ClassVar, Final

from fulfilment.testing.conformance.faults import Fault
from fulfilment.testing.conformance.line import Answer, Line
from fulfilment.testing.conformance.rig import Hooks

_PROVIDERS_OWN: Final = (
    Fault.DECLINED,
    Fault.TURNED_AWAY,
    Fault.CACHED_ERROR,
    Fault.RETURNED_LATER,
)


class HttpRig:
    """Give `line.url` to the connector as the provider's address; the rest of `Rig` is yours.

    Of the faults, `provoke` and `lie` are yours, too.
    """

    cannot: ClassVar[Mapping[Fault, str]] = {}
    hooks: Hooks | None = None

    def __init__(self, upstream: str) -> None:
        """`upstream`: the provider's own address, as http://host:port."""
        self.line = Line(upstream)
        self.line.altered = self._altered

    def provoke(self, fault: Fault) -> AbstractContextManager[None]:
        """Make the provider itself do it: DECLINED, TURNED_AWAY, CACHED_ERROR, RETURNED_LATER."""
        raise NotImplementedError(fault)

    def lie(self, fault: Fault, body: bytes) -> bytes:
        """An answer's body, with another amount, currency or recipient in it; else as it is."""
        raise NotImplementedError(fault)

    def inject(self, fault: Fault) -> AbstractContextManager[None]:
        """This fault meets every call of the block."""
        return self.provoke(fault) if fault in _PROVIDERS_OWN else self.line.under(fault)

    def rotate(self) -> AbstractContextManager[Mapping[str, str]]:
        """Only where ROTATED is not in `cannot`."""
        raise NotImplementedError

    def let_through(self) -> None:
        """What LATE_REQUEST holds up arrives now."""
        self.line.let_through()

    def let_settle(self, reference: str) -> None:
        """This provider decides at once."""

    def let_return(self, reference: str) -> None:
        """Only where RETURNED_LATER is not in `cannot`."""
        raise NotImplementedError

    def calls(self, reference: str) -> int:
        """How many calls named this reference."""
        return sum(order.names(reference) for order in self.line.orders)

    def _altered(self, fault: Fault, answer: Answer) -> Answer:
        if fault is Fault.ODD_SUCCESS:
            return Answer(200, answer.headers, b"{}")
        return replace(answer, body=self.lie(fault, answer.body))
