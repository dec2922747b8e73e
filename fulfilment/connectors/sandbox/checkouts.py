"""Opens checkouts at the sandbox provider: pages at which somebody pays us.

No connector: opening a checkout moves no money. That it was paid is told by the event
`payment.succeeded`, and by `find`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias

from fulfilment.connectors.base import Declined, NoInformation, NotFound, NotSent, Refused, Unknown
from fulfilment.connectors.http import Reply
from fulfilment.connectors.sandbox import reading
from fulfilment.connectors.sandbox.api import Api
from fulfilment.connectors.sandbox.reading import Members, Odd, Table

DEADLINE: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """There is a checkout under the reference, and nobody has paid yet. `amount` in minor units."""

    id: str
    url: str  # where the customer pays
    amount: int
    currency: str
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """There is a checkout under the reference, and somebody has paid. `amount` in minor units."""

    id: str
    url: str
    amount: int
    currency: str
    body: bytes = b""


Opening: TypeAlias = Opened | Paid | Declined | NotSent | Refused | Unknown
Finding: TypeAlias = Opened | Paid | Declined | NotFound | NoInformation


class CheckoutDesk:
    """Opens a checkout once per reference, for ever, and finds it again.

    Settings: URL, SECRET and, with a default, LOOK_UP_DEADLINE (a timedelta).
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Raises ValueError, without showing the secret, where URL or SECRET cannot be used."""
        self._api = Api(settings, collection="checkouts")

    def open(
        self,
        reference: str,
        *,
        amount: int,
        currency: str,
        metadata: Mapping[str, Any] | None = None,
        deadline: timedelta = DEADLINE,
    ) -> Opening:
        """Asks for the checkout once, within `deadline`; `amount` in minor units.

        Only `NotSent` and `Refused` prove that there is none. After `Unknown` ask `find`; opening
        it again under the same reference is safe, too. `metadata` comes back in the event.
        """
        order = {
            "reference": reference,
            "amount": amount,
            "currency": currency,
            "metadata": dict(metadata or {}),
        }
        reply = self._api.post(order, deadline=deadline)
        if not isinstance(reply, Reply):
            return reply
        try:
            return reading.meaning(reply, _OPENED, reference=reference)
        except Odd as error:
            return Unknown(reason=str(error), body=reply.body)

    def find(self, reference: str) -> Finding:
        """Asks what there is under `reference`; opens nothing."""
        reply = self._api.get(reference)
        if not isinstance(reply, Reply):
            return NoInformation(reason=reply.reason)
        try:
            return reading.meaning(reply, _FOUND, reference=reference)
        except Odd as error:
            return NoInformation(reason=str(error), body=reply.body)


def _opened(reply: Reply, checkout: Members) -> Opened:
    return Opened(**_members(reply, checkout))


def _paid(reply: Reply, checkout: Members) -> Paid:
    return Paid(**_members(reply, checkout))


def _members(reply: Reply, checkout: Members) -> dict[str, Any]:
    return {
        "id": reading.text(checkout, "id", 128),
        "url": reading.text(checkout, "url", 2000),
        "amount": reading.amount(checkout),
        "currency": reading.text(checkout, "currency", 3),
        "body": reply.body,
    }


_OPENED: Final[Table[Opening]] = {
    (201, "open"): _opened,
    (200, "open"): _opened,  # opened by an earlier attempt, replayed
    (200, "paid"): _paid,
    (402, "failed"): reading.declined,
    **reading.REFUSALS,
    (409, "reference_conflict"): reading.exists,
}
_FOUND: Final[Table[Finding]] = {
    (200, "open"): _opened,
    (200, "paid"): _paid,
    (200, "failed"): reading.declined,
    (404, "not_found"): reading.not_found,
}
