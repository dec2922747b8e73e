"""Transfers: on-us in one posting, to another bank as a hold that waits for its outcome."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

import fulfilment
from idempotency.errors import Stated
from ledgerline.bank import accounts, errors, holds, on_us
from ledgerline.bank.models import Transfer

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
    fulfilment is on its way. Raises `MadeBefore`, and the refusals of `errors`.
    """
    with unless_made(claim):
        refuse_size(order)
    return _to_another_bank(order, claim=claim) if order.to_bank else _on_us(order, claim=claim)


@contextmanager
def unless_made(claim: Claimed, *also: type[Exception]) -> Iterator[None]:
    """What is refused today may have been done already, for a request whose key is gone since.

    Raises `MadeBefore` instead of a refusal (or one of `also`) if the reference has its transfer.
    """
    refusals: tuple[type[Exception], ...] = (Stated, *also)
    try:
        yield
    except refusals:
        if find(claim.reference) is not None:
            raise errors.MadeBefore from None
        raise


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


def connector_to(bank: str) -> str:
    """The name of the connector by which this bank is paid to."""
    name: str = settings.BANK_CONNECTORS.get(bank.upper(), settings.EXTERNAL_CONNECTOR)
    return name


def _on_us(order: Order, *, claim: Claimed) -> Transfer:
    transfer = _ordered(order, claim=claim, state=Transfer.State.FULFILLED)
    on_us.pay(transfer, from_number=order.from_account)
    return transfer


def _to_another_bank(order: Order, *, claim: Claimed) -> Transfer:
    if find(claim.reference) is not None:
        raise errors.MadeBefore
    transfer = _ordered(order, claim=claim, state=Transfer.State.PENDING)
    transfer.from_account = accounts.of(
        claim.scope, number=order.from_account, currency=order.currency
    )
    transfer.save(force_insert=True)
    holds.place(transfer.from_account, amount=order.amount, transfer=transfer)
    fulfilment.start(
        kind=KIND,
        event_id=f"api:{claim.reference}",
        payment_id=payment_id(claim.reference),
        connector=connector_to(order.to_bank),
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


def _ordered(order: Order, *, claim: Claimed, state: Transfer.State) -> Transfer:
    """The transfer as ordered; not yet written down, and without its account."""
    return Transfer(
        reference=claim.reference,
        user_id=claim.scope,
        idempotency_key=claim.key,
        request_hash=claim.fingerprint,
        to_account=order.to_account,
        to_bank=order.to_bank,
        amount=order.amount,
        currency=order.currency,
        narration=order.narration,
        state=state,
    )
