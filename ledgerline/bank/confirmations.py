"""What the customer saw on the confirm screen is what is paid, once."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from idempotency import tokens
from ledgerline.bank import accounts, errors, transfers
from ledgerline.bank.models import Account
from ledgerline.bank.transfers import Claimed, Order

_PURPOSE = "transfer"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the confirm screen shows, and the token that stands for it."""

    issued: tokens.Issued
    order: Order
    sender: Account
    payee: Account | None  # None: the account is kept by another bank


def open_for(request: Any, order: Order) -> Confirmation:
    """A token for exactly this order, to be sent with the transfer.

    Nothing is reserved: the balance is looked at when the money moves. Raises the refusals that are
    certain already (size, payee, own account), and Transient if no token can be kept.
    """
    transfers.refuse_size(order)
    owner, currency = request.user.pk, order.currency
    sender = accounts.of(owner, number=order.from_account, currency=currency)
    payee = None if order.to_bank else accounts.payee(order.to_account, currency=currency)
    if payee == sender:
        raise errors.SameAccount
    issued = tokens.issue(request, purpose=_PURPOSE, bound=_bound(order))
    return Confirmation(issued, order, sender, payee)


def require(order: Order, *, claim: Claimed, token: str | None) -> None:
    """Spend the order's confirmation, in the claim's transaction, before any money moves.

    A token that was sent is spent, whatever the amount: it is good for one transfer. Raises
    `ConfirmationRequired`, a `TokenRefused` or Transient; of none anything is stored.
    """
    if token is not None:
        tokens.spend(token, claim=claim, purpose=_PURPOSE, bound=_bound(order))
        return
    above = settings.CONFIRM_ABOVE.get(order.currency)
    if above is not None and order.amount > above:
        raise errors.ConfirmationRequired(above=above)


def _bound(order: Order) -> dict[str, tokens.Bindable]:
    """In the API's own names, because a refusal tells which of them differ.

    Not the narration: it says nothing about where money goes, and may be written last.
    """
    return {
        "amount": order.amount,
        "currency": order.currency,
        "toAccount": order.to_account,
        "toBank": order.to_bank,
        "fromAccount": order.from_account,
    }
