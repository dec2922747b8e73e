"""What is booked, whatever was answered: one payment, top-up or checkout. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from fulfilment.connectors.sandbox.provider.faults import Fate, Kind
from fulfilment.connectors.sandbox.provider.order import Order, Product, mask

SUCCEEDED = "succeeded"  # money left
FAILED = "failed"  # declined, for ever
REVERSED = "reversed"  # left, and came back
OPEN = "open"  # a checkout that waits for somebody to pay
PAID = "paid"  # a checkout that somebody paid

_PREFIX = {Product.TRANSFER: "pay", Product.AIRTIME: "air", Product.CHECKOUT: "chk"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One entry of the books. `account` is masked; the digest compares it with a later request."""

    id: str
    reference: str
    status: str
    amount: int
    currency: str
    bank: str
    account: str
    account_digest: str
    narration: str
    created_at: str
    kind: str = Product.TRANSFER
    metadata: Mapping[str, Any] = field(default_factory=dict)
    asked: int | None = None  # the amount asked for, where another was booked
    reverse_at: str = ""  # when it will come back, if it will
    duplicate: bool = False
    silent: bool = False  # nothing about it is reported

    @property
    def recipient(self) -> dict[str, str]:
        """Who got it, masked, in the words of the API."""
        match self.kind:
            case Product.TRANSFER:
                return {"bank": self.bank, "account": self.account}
            case Product.AIRTIME:
                return {"phone": self.account}
            case _:
                return {}

    def is_what_was_asked(self, order: Order) -> bool:
        """Same content, not only the same reference?"""
        amount = self.amount if self.asked is None else self.asked
        mine = (amount, self.currency, self.bank, self.account_digest, self.narration)
        asked = (order.amount, order.currency, order.bank, order.account_digest, order.narration)
        return mine == asked and self.metadata == order.metadata


def of(order: Order, *, fate: Fate, now: datetime, seed: str) -> Payment:
    """What is booked for this order when this befalls it."""
    wrong = fate.trait(Kind.WRONG_AMOUNT) is not None
    back = fate.trait(Kind.REVERSED_LATER) if order.kind is Product.TRANSFER else None
    return Payment(
        id=id_of(order.kind, order.reference, seed=seed),
        kind=order.kind,
        reference=order.reference,
        status=_status(order, fate),
        amount=order.amount + wrong,
        currency=order.currency,
        bank=order.bank,
        account=mask(order.account),
        account_digest=order.account_digest,
        narration=order.narration,
        metadata=order.metadata,
        created_at=now.isoformat(),
        asked=order.amount if wrong else None,
        reverse_at=(now + timedelta(seconds=back.seconds)).isoformat() if back else "",
        duplicate=fate.trait(Kind.DUPLICATE) is not None,
        silent=fate.trait(Kind.NO_WEBHOOK) is not None,
    )


def id_of(kind: Product, reference: str, *, seed: str) -> str:
    """From the reference, so that two runs of a test print the same."""
    digest = hashlib.sha256(f"{seed}\n{kind}\n{reference}".encode()).hexdigest()
    return f"{_PREFIX[kind]}_{digest[:24]}"


def _status(order: Order, fate: Fate) -> str:
    if fate.fault.kind is Kind.DECLINE:
        return FAILED
    return OPEN if order.kind is Product.CHECKOUT else SUCCEEDED
