"""What a connector is asked and what it may answer. Pure: no Django, no clock, no I/O.

A connector turns one provider's words into these few. What it cannot place is `Unknown`: the
rest of the system never guesses, so a connector need not either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol, TypeAlias


class Dedupe(StrEnum):
    """How the provider recognises a request that it has seen."""

    NONE = "none"  # sending again pays again
    REFERENCE_FOREVER = "reference_forever"  # the reference is unique at the provider for ever
    KEY_WINDOW = "key_window"  # the key is remembered for `dedupe_window`


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What the provider promises; these drive the rules of dispatch and reconciliation."""

    dedupe: Dedupe
    dedupe_window: timedelta | None = None  # with KEY_WINDOW
    errors_cached: bool = False  # a 5xx is stored and replayed for the same key (Stripe v1)
    lookup_by_reference: bool = True
    visible_after: timedelta = timedelta(0)  # from creation until a look-up shows it
    not_found_final_after: timedelta | None = None  # None: "not found" is never final
    late_reversal_horizon: timedelta | None = None  # how long a done effect may come back
    webhook_has_id: bool = True
    webhook_authenticates_body: bool = True

    def __post_init__(self) -> None:
        if (self.dedupe is Dedupe.KEY_WINDOW) != (self.dedupe_window is not None):
            raise ValueError("dedupe_window goes with Dedupe.KEY_WINDOW and only with it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One effect, as it is sent. `amount` in minor units."""

    reference: str  # the name to give it at the provider; the same on every attempt
    amount: int
    currency: str
    instruction: Mapping[str, Any] = field(default_factory=dict, repr=False)  # names the account
    deadline: timedelta  # in total, from the first look-up of a name to the last byte of the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The provider says it happened. Conclusive, if amount and currency are ours."""

    amount: int | None
    currency: str
    provider_id: str = ""
    status: str = ""  # the provider's own word
    body: bytes = b""
    recipient: str = ""  # as the provider names it; only the last digits of it are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The provider says, finally, that it did not and will not happen."""

    reason: str
    status: str = ""
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversed:
    """The provider says it happened and was given back later. Conclusive, if the amount is ours."""

    amount: int | None
    currency: str
    provider_id: str = ""
    status: str = ""
    body: bytes = b""
    recipient: str = ""  # as the provider names it; only the last digits of it are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """Proof that nothing left us: the connection was never made."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The provider *documents* that nothing was begun, for a reason of ours.

    Credentials, a rate limit, our own balance: the same reference goes again later.
    """

    reason: str
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The provider has it and has not decided."""

    status: str = ""
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It may or may not have happened: every time-out, reset, 5xx and odd 2xx."""

    reason: str
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFound:
    """The provider, when asked, does not know the reference. By itself this decides nothing."""

    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoInformation:
    """The provider could not be asked: it is down, it limits us, it refuses our credentials."""

    reason: str
    body: bytes = b""


Outcome: TypeAlias = Done | Reversed | Declined | NotSent | Refused | Accepted | Unknown
LookUp: TypeAlias = Done | Reversed | Declined | Accepted | NotFound | NoInformation


class Connector(Protocol):
    """The code for one external system. Built with its settings (`FULFILMENT["CONNECTORS"]`)."""

    @property
    def capabilities(self) -> Capabilities:
        """What the provider promises."""

    def send(self, instruction: Instruction, /) -> Outcome:
        """One attempt, never repeated inside. Ends within `instruction.deadline`.

        An exception counts as `Unknown`.
        """

    def recipient(self, instruction: Mapping[str, Any], /) -> str:
        """Who is to be paid, exactly as this provider names it in its answers and events.

        Compared with what `Done` and `Reversed` name, and only there: never shown, never stored.
        Empty where the provider names nobody, or where the instruction does not.
        """

    def look_up(self, reference: str, /) -> LookUp:
        """What the provider has under `reference`. Never sends an effect.

        An exception counts as `NoInformation`.
        """
