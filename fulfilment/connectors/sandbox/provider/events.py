"""What the provider reports of what it booked. Pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fulfilment.connectors.sandbox.provider.order import Product
from fulfilment.connectors.sandbox.provider.payment import (
    FAILED,
    PAID,
    REVERSED,
    SUCCEEDED,
    Payment,
)

ACCOUNT = "acct_sandbox"
_TYPES = {
    (Product.TRANSFER, SUCCEEDED): "transfer.succeeded",
    (Product.TRANSFER, FAILED): "transfer.failed",
    (Product.TRANSFER, REVERSED): "transfer.reversed",
    (Product.AIRTIME, SUCCEEDED): "airtime.succeeded",
    (Product.AIRTIME, FAILED): "airtime.failed",
    (Product.CHECKOUT, PAID): "payment.succeeded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One report, the same bytes on every delivery. `copies` are delivered at once."""

    id: str
    type: str
    created_at: str
    data: Mapping[str, Any]
    account: str = ACCOUNT
    livemode: bool = False
    copies: int = 1

    @property
    def content(self) -> dict[str, Any]:
        """The members of the body."""
        names = ("id", "type", "account", "livemode", "created_at", "data")
        return {name: getattr(self, name) for name in names}

    @property
    def body(self) -> bytes:
        """The bytes that are signed and sent."""
        return json.dumps(self.content, separators=(",", ":")).encode()

    @property
    def key(self) -> str:
        """Tells apart what a test sends under one id with two bodies."""
        return f"{self.id}:{hashlib.sha256(self.body).hexdigest()[:16]}"

    @property
    def reference(self) -> str:
        """The caller's name for what it is about; empty if it names none."""
        return str(self.data.get("reference", ""))


def of(payment: Payment, *, at: str, seed: str) -> tuple[Event, ...]:
    """What is reported of a payment in this status; nothing of a silent one."""
    kind = _TYPES.get((Product(payment.kind), payment.status))
    if kind is None or payment.silent:
        return ()
    return tuple(
        Event(
            id=id_of(payment.kind, payment.reference, kind, str(n), seed=seed),
            type=kind,
            created_at=at,
            data=_data(payment, seed=seed),
            copies=2 if payment.duplicate else 1,
        )
        for n in range(2 if payment.duplicate else 1)
    )


def id_of(*names: str, seed: str) -> str:
    """From what it is about, so that two runs of a test print the same."""
    digest = hashlib.sha256("\n".join((seed, *names)).encode(errors="surrogatepass")).hexdigest()
    return f"evt_{digest[:24]}"


def _data(payment: Payment, *, seed: str) -> dict[str, Any]:
    data = {
        "id": payment.id,
        "reference": payment.reference,
        "status": payment.status,
        "amount": payment.amount,
        "currency": payment.currency,
        "recipient": payment.recipient,
    }
    if payment.kind != Product.CHECKOUT:
        return data
    # The payment is another object than the checkout at which it was made.
    paid = hashlib.sha256(f"{seed}\n{payment.id}".encode()).hexdigest()
    return data | {
        "id": f"pay_{paid[:24]}",
        "status": SUCCEEDED,
        "checkout_id": payment.id,
        "metadata": payment.metadata,
    }
