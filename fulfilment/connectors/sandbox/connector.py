"""Sends transfers and airtime to the sandbox provider and asks it about them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, Final

from fulfilment.connectors import http
from fulfilment.connectors.base import (
    Capabilities,
    Dedupe,
    Instruction,
    LookUp,
    NoInformation,
    NotSent,
    Outcome,
)
from fulfilment.connectors.sandbox import mapping
from fulfilment.connectors.sandbox.api import Api
from fulfilment.connectors.sandbox.webhooks import SandboxWebhooks

# On loopback a booking is visible at once; the distance between two look-ups that shall agree is
# never nothing, or three answers of the same instant would count as three.
VISIBLE_AFTER: Final = timedelta(seconds=1)
# The provider promises nothing about a request that is still on its way. It has no queue, so
# what it has not booked within this time it never received.
NOT_FOUND_FINAL_AFTER: Final = timedelta(seconds=30)
# The longest a fault `reversed_later` can be told to wait.
LATE_REVERSAL_HORIZON: Final = timedelta(hours=1)


class SandboxConnector:
    """The connector `sandbox`: money to a bank account.

    Settings: URL, SECRET; and, all with a default, VISIBLE_AFTER, NOT_FOUND_FINAL_AFTER and
    LOOK_UP_DEADLINE (timedeltas). Instructions name `bank`, `account` and may have a `narration`.
    """

    collection: ClassVar = "payments"
    named_by: ClassVar[tuple[str, ...]] = ("bank", "account")
    late_reversal_horizon: ClassVar = LATE_REVERSAL_HORIZON
    webhooks: ClassVar = SandboxWebhooks()

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Raises ValueError, without showing the secret, where URL or SECRET cannot be used."""
        self._api = Api(settings, collection=self.collection)
        self._capabilities = _capabilities(settings, horizon=self.late_reversal_horizon)

    @property
    def capabilities(self) -> Capabilities:
        """What the provider promises."""
        return self._capabilities

    def send(self, instruction: Instruction, /) -> Outcome:
        """Asks for the payment once, within `instruction.deadline`."""
        try:
            order = self._order(instruction)
        except KeyError as error:
            return NotSent(reason=f"the instruction names no {error.args[0]}")
        reply = self._api.post(order, deadline=instruction.deadline)
        if not isinstance(reply, http.Reply):
            return reply
        return mapping.sent(reply, reference=instruction.reference)

    def recipient(self, instruction: Mapping[str, Any], /) -> str:
        """Bank and account, or the telephone's number; masked, as the provider's answers are."""
        *before, number = (str(instruction.get(name, "")) for name in self.named_by)
        return " ".join([*before, mapping.masked(number)]) if number else ""

    def look_up(self, reference: str, /) -> LookUp:
        """Asks what the provider has under `reference`; begins nothing."""
        reply = self._api.get(reference)
        if not isinstance(reply, http.Reply):
            return NoInformation(reason=reply.reason)
        return mapping.looked_up(reply, reference=reference)

    def _order(self, instruction: Instruction) -> dict[str, Any]:
        wanted = instruction.instruction
        return {
            "reference": instruction.reference,
            "amount": instruction.amount,
            "currency": instruction.currency,
            "recipient": {name: wanted[name] for name in self.named_by},
            "narration": wanted.get("narration", ""),
        }


class AirtimeConnector(SandboxConnector):
    """The connector `airtime`: credit for a telephone. Settings as for `SandboxConnector`.

    Instructions name `phone` and may have a `narration`.
    """

    collection = "airtime"
    named_by = ("phone",)
    late_reversal_horizon = timedelta(0)  # credit that was given never comes back


def _capabilities(settings: Mapping[str, Any], *, horizon: timedelta) -> Capabilities:
    return Capabilities(
        dedupe=Dedupe.REFERENCE_FOREVER,
        errors_cached=False,
        lookup_by_reference=True,
        visible_after=settings.get("VISIBLE_AFTER", VISIBLE_AFTER),
        not_found_final_after=settings.get("NOT_FOUND_FINAL_AFTER", NOT_FOUND_FINAL_AFTER),
        late_reversal_horizon=horizon,
        webhook_has_id=True,
        webhook_authenticates_body=True,
    )
