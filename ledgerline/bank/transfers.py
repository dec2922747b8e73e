"""Transfers: on-us in one posting, to another bank as a hold that waits for its outcome."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

import fulfilment
from ledgerline.bank import accounts, errors, holds
from ledgerline.bank.models import Account, Posting, Transfer
from ledgerline.bank.posting import Leg, post

KIND = "transfer"  # names the handlers in `outcomes` to the fulfilment app


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a customer wants paid; `amount` in minor units. Without `to_bank`: to an account of ours."""

    to_account: str
    amount: int
    currency: str
    to_bank: str = ""
    from_account: str | None = None
    narration: str = ""


class Claimed(Protocol):
    """What a transfer takes from the claim on its idempotency key."""

    @property
    def scope(self) -> UUID: ...
    @property
    def key(self) -> str: ...
    @property
    def reference(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...


def find(reference: str) -> Transfer | None:
    """The transfer that was once made under this reference; kept longer than any key."""
    return Transfer.objects.filter(reference=reference).select_related("from_account").first()


def locked(reference: str) -> Transfer:
    """The transfer as it is now, and as it stays until this transaction ends.

    A verdict and a late retry both come here first, so neither misses what the other wrote.
    Raises `Transfer.DoesNotExist`.
    """
    rows = Transfer.objects.select_for_update(no_key=True, of=("self",))
    return rows.select_related("from_account").get(reference=reference)


def make(order: Order, *, claim: Claimed) -> Transfer:
    """Carry the order out, in the caller's transaction.

    On-us: `fulfilled`, the money has moved. To another bank: `pending`, the money is held and a
    fulfilment is on its way. Raises the refusals of `errors`.
    """
    refuse_size(order)
    sender = accounts.of(claim.scope, number=order.from_account, currency=order.currency)
    if order.to_bank:
        return _to_another_bank(order, sender=sender, claim=claim)
    return _on_us(order, sender=sender, claim=claim)


def cancel(transfer: Transfer, *, actor: str) -> Transfer:
    """Take the order back, if nothing of it was ever sent; again, it changes nothing.

    Returns the transfer as it is then. Raises `NotCancellable`.
    """
    if transfer.state == Transfer.State.CANCELLED:
        return transfer
    if not transfer.to_bank:  # between accounts of ours, it is paid when it is made
        raise errors.NotCancellable
    try:
        payment = payment_id(transfer.reference)
        fulfilment.cancel(payment, actor=actor, reason="the customer cancelled it")
    except fulfilment.NotCancellable as error:
        raise errors.NotCancellable from error
    return Transfer.objects.select_related("from_account").get(pk=transfer.pk)


def move(transfer: Transfer, *, before: Transfer.State, to: Transfer.State) -> None:
    """Compare-and-set of the state, stamped. Raises `BooksRefused` where it is not `before`."""
    stamp = "reversed_at" if to is Transfer.State.REVERSED else "decided_at"
    moved = Transfer.objects.filter(pk=transfer.pk, state=before).update(
        **{"state": to, stamp: Now()}
    )
    if not moved:
        raise errors.BooksRefused(f"{transfer} is {transfer.state} and cannot become {to}")
    transfer.refresh_from_db(fields=["state", "decided_at", "reversed_at"])


def later_twin(transfer: Transfer) -> Transfer | None:
    """A later transfer of the same customer, payee and amount that is paid or may still be."""
    alike = Transfer.objects.filter(
        user_id=transfer.user_id,
        to_bank=transfer.to_bank,
        to_account=transfer.to_account,
        amount=transfer.amount,
        currency=transfer.currency,
        created_at__gt=transfer.created_at,
        state__in=[Transfer.State.PENDING, Transfer.State.FULFILLED],
    )
    return alike.order_by("created_at").first()


def payment_id(reference: str) -> str:
    """The name of a transfer's payment: the same key gives the provider the same reference."""
    return f"transfer:{reference}"


def reference_of_payment(payment_id: str) -> str:
    """The way back from `payment_id`."""
    return payment_id.removeprefix("transfer:")


def refuse_size(order: Order) -> None:
    """Raises `CurrencyUnsupported` or `LimitExceeded`."""
    limit = settings.TRANSFER_LIMITS.get(order.currency)
    if limit is None:
        raise errors.CurrencyUnsupported
    if order.amount > limit:
        raise errors.LimitExceeded(limit=limit)


def _on_us(order: Order, *, sender: Account, claim: Claimed) -> Transfer:
    payee = accounts.payee(order.to_account, currency=order.currency)
    if payee.pk == sender.pk:
        raise errors.SameAccount
    transfer = _record(order, sender=sender, claim=claim, state=Transfer.State.FULFILLED)
    post(
        Leg(sender, -order.amount),
        Leg(payee, order.amount),
        kind=Posting.Kind.TRANSFER,
        transfer=transfer,
    )
    return transfer


def _to_another_bank(order: Order, *, sender: Account, claim: Claimed) -> Transfer:
    transfer = _record(order, sender=sender, claim=claim, state=Transfer.State.PENDING)
    holds.place(sender, amount=order.amount, transfer=transfer)
    fulfilment.start(
        kind=KIND,
        event_id=f"api:{claim.reference}",
        payment_id=payment_id(claim.reference),
        connector=settings.EXTERNAL_CONNECTOR,
        amount=order.amount,
        currency=order.currency,
        instruction={
            "bank": order.to_bank,
            "account": order.to_account,
            "narration": order.narration,
        },
        actor=f"user:{claim.scope}",
    )
    return transfer


def _record(order: Order, *, sender: Account, claim: Claimed, state: Transfer.State) -> Transfer:
    decided = state == Transfer.State.FULFILLED
    transfer = Transfer.objects.create(
        reference=claim.reference,
        user_id=claim.scope,
        idempotency_key=claim.key,
        request_hash=claim.fingerprint,
        from_account=sender,
        to_account=order.to_account,
        to_bank=order.to_bank,
        amount=order.amount,
        currency=order.currency,
        narration=order.narration,
        state=state,
        decided_at=Now() if decided else None,
    )
    if decided:  # the database's clock, read back
        transfer.refresh_from_db(fields=["decided_at"])
    return transfer
