"""Payments: a checkout at the provider, opened once per key, whoever dies on the way."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings

import idempotency
from fulfilment.connectors.base import Declined, NoInformation, NotFound, NotSent, Refused, Unknown
from ledgerline.bank import checkouts, errors, receipts
from ledgerline.bank.checkouts import Checkout
from ledgerline.bank.models import Payment, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a customer wants to pay for: airtime for `phone`; `amount` in minor units."""

    amount: int
    currency: str
    phone: str
    narration: str = ""


class Claimed(Protocol):
    """What a payment takes from the claim on its key, or later from the key's record."""

    @property
    def scope(self) -> UUID: ...
    @property
    def reference(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...


def refuse_made(claim: Claimed) -> None:
    """Raises `AlreadyApplied` for a payment that was made under this reference, whose key is gone.

    To be asked before the body is judged: a damaged one must not be told that nothing was done.
    """
    earlier = Payment.objects.filter(reference=claim.reference).first()
    if earlier is not None:
        raise idempotency.AlreadyApplied(receipts.opened(earlier), earlier.request_hash)


def refuse(order: Order, *, claim: Claimed) -> None:
    """Everything that can be refused before anything is begun. Raises the refusals of `errors`."""
    limit = settings.PAYMENT_LIMITS.get(order.currency)
    if limit is None:
        raise errors.CurrencyUnsupported
    if order.amount > limit:
        raise errors.LimitExceeded(limit=limit)
    if not User.objects.filter(pk=claim.scope, frozen_at=None).exists():
        raise errors.UserFrozen


def open_checkout(order: Order, *, reference: str, deadline: timedelta) -> Checkout:
    """The customer's checkout. To be called after the mark, outside any transaction.

    Raises `NothingHappened`, the refusal `CheckoutDeclined`, or `OutcomeUnknown`.
    """
    answer = checkouts.desk().open(
        reference,
        amount=order.amount,
        currency=order.currency,
        metadata=_metadata(order),
        deadline=deadline,
    )
    match answer:
        case NotSent() | Refused():
            raise idempotency.NothingHappened
        case Declined():
            raise errors.CheckoutDeclined
        case Unknown(reason=reason):
            raise idempotency.OutcomeUnknown(reason)
    if (answer.amount, answer.currency) != (order.amount, order.currency):
        raise idempotency.OutcomeUnknown("the checkout is over another amount")
    return answer


def record(order: Order, checkout: Checkout, *, claim: Claimed) -> Payment:
    """Write the payment down, in the transaction that settles its key."""
    payment = Payment.objects.create(
        reference=claim.reference,
        user_id=claim.scope,
        request_hash=claim.fingerprint,
        amount=order.amount,
        currency=order.currency,
        phone=order.phone,
        narration=order.narration,
        checkout_id=checkout.id,
        checkout_url=checkout.url,
    )
    payment.refresh_from_db(fields=["created_at"])  # the database's clock
    return payment


def recover(key: idempotency.Record) -> idempotency.Recovery:
    """What became of a checkout whose opening nobody saw end. Asks the desk by reference.

    "Not found" may be acted on: the desk knows a reference for ever, so opening it again, even if
    the first call is still on its way, gives one checkout.
    """
    found = checkouts.desk().find(key.reference)
    match found:
        case NotFound():
            return idempotency.NotDone()
        case NoInformation(reason=reason):
            return idempotency.Unknown(reason)
        case Declined():
            return idempotency.Done(errors.CheckoutDeclined().answer())
    order = _order(found)
    if order is None:
        return idempotency.Unknown("the checkout does not say for which phone it is")
    if checkouts.metadata_of(found).get(_ORDERED) != _sum(order):
        return idempotency.Unknown("the checkout is over another amount than was ordered")
    return idempotency.Done(partial(_recorded, order, found, key))


def _recorded(order: Order, checkout: Checkout, key: idempotency.Record) -> idempotency.Answer:
    return receipts.opened(record(order, checkout, claim=key))


def _metadata(order: Order) -> Mapping[str, Any]:
    """Kept by the provider, so that a checkout can be recovered of which we wrote nothing down."""
    narration = {"narration": order.narration} if order.narration else {}
    return {"phone": order.phone, _ORDERED: _sum(order)} | narration


def _sum(order: Order) -> str:
    """What was asked for, beside what the provider made of it: the two must not be mixed up."""
    return f"{order.amount} {order.currency}"


def _order(checkout: Checkout) -> Order | None:
    """What the checkout is for, over the sum that the provider has on it."""
    kept = checkouts.metadata_of(checkout)
    phone, narration = kept.get("phone"), kept.get("narration", "")
    if not isinstance(phone, str) or not phone or not isinstance(narration, str):
        return None
    return Order(
        amount=checkout.amount, currency=checkout.currency, phone=phone, narration=narration
    )


_ORDERED = "ordered"
