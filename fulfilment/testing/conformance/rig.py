"""What a connector's tests supply: the provider, the ways to disturb it, and its own books."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from fulfilment.connectors.base import Capabilities
from fulfilment.reconcile.evidence import Finding
from fulfilment.testing.conformance.faults import Fault


class Hooks(Protocol):
    """How the provider's events are worded and signed. Nothing of the connector's may be used."""

    @property
    def secret(self) -> str:
        """What signs them (or, where a literal secret comes along, what that is)."""

    @property
    def other_secret(self) -> str:
        """One of the same form that is not ours."""

    @property
    def entry(self) -> Mapping[str, Any]:
        """What FULFILMENT["WEBHOOKS"] has to say of it besides CONNECTOR and SECRETS.

        The connector is called `NAME` here, also in ACCOUNTS and SPEAKS_FOR.
        """

    @property
    def timestamped(self) -> bool:
        """Does the signature hold a time, so that an old one can be told?"""

    def event(self, reference: str, said: Finding) -> bytes:
        """The body that tells DONE, NOT_DONE or REVERSED of this reference, a new event each time.

        With what the books have of it, if they have it.
        """

    def strangers(self, reference: str) -> Mapping[str, bytes]:
        """Events that say DONE of it and are not for us: of another account, of the other mode."""

    def signed(self, body: bytes, *, secret: str, at: datetime) -> Mapping[str, str]:
        """The headers with which these bytes come."""


class Rig(Protocol):
    """One provider with empty books, and everything that may befall it. Held for a whole class.

    `fulfilment.testing.conformance.HttpRig` has the faults of the line for whatever is called by
    HTTP. References are never used twice, so the books need not be emptied between tests.
    """

    @property
    def cannot(self) -> Mapping[Fault, str]:
        """Which faults this provider cannot be made to show, each with the reason for the report."""

    @property
    def hooks(self) -> Hooks | None:
        """Its events; None where it sends none."""

    @property
    def amount(self) -> int:
        """What a payment of the tests moves, in minor units of `currency`."""

    @property
    def currency(self) -> str: ...

    @property
    def instruction(self) -> Mapping[str, Any]:
        """Whom it pays: what the connector needs besides amount and currency."""

    @property
    def private(self) -> tuple[str, ...]:
        """What may never be shown whole: the recipient's account or telephone number."""

    @property
    def credentials(self) -> tuple[str, ...]:
        """The names of the settings that hold a secret."""

    def settings(self) -> Mapping[str, Any]:
        """The entry in FULFILMENT["CONNECTORS"] that reaches this provider. CLASS is the suite's."""

    def inject(self, fault: Fault) -> AbstractContextManager[None]:
        """This fault meets every call of the block. Those in `cannot` are never asked for."""

    def rotate(self) -> AbstractContextManager[Mapping[str, str]]:
        """In the block the provider takes other credentials only: they are given by their names."""

    def let_through(self) -> None:
        """What LATE_REQUEST holds up arrives now; returns once the provider has it."""

    def let_settle(self, reference: str) -> None:
        """What the provider has accepted is decided now; nothing, where it always is at once."""

    def let_return(self, reference: str) -> None:
        """What was done under RETURNED_LATER comes back now."""

    def calls(self, reference: str) -> int:
        """How many calls of the connector named this reference: orders and look-ups."""

    def effects(self, reference: str) -> int:
        """How often it happened, by the provider's own books; also where it came back since.

        Read from the books themselves, never through the connector.
        """


def excuse(rig: Rig, fault: Fault, capabilities: Capabilities) -> str:
    """Why this fault is not shown, in words for the report; "" where it has to be."""
    if fault is Fault.CACHED_ERROR and not capabilities.errors_cached:
        return "the connector says that this provider keeps no error"
    if fault is Fault.RETURNED_LATER and not capabilities.late_reversal_horizon:
        return "the connector says that nothing comes back from this provider"
    return rig.cannot.get(fault, "")
