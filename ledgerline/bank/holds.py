"""Holds: money set aside while nobody knows yet whether it left."""

from django.db.models.functions import Now

from ledgerline.bank import accounts, errors
from ledgerline.bank.models import Account, Hold, Posting, Transfer
from ledgerline.bank.posting import Leg, post


def place(account: Account, *, amount: int, transfer: Transfer) -> Hold:
    """Set `amount` minor units aside for a transfer.

    Raises `InsufficientBalance`, `AccountFrozen`, `UserFrozen`.
    """
    locked = accounts.lock([account])[account.pk]
    accounts.refuse_frozen_payer(locked)
    if locked.available < amount:
        raise errors.InsufficientBalance
    return Hold.objects.create(account=account, amount=amount, transfer=transfer)


def capture(transfer: Transfer) -> Posting:
    """The held money has left: post it against the settlement account.

    A freeze does not stop it; a fact is never refused. Raises `BooksRefused` if nothing is held.
    """
    hold = _close(transfer, state=Hold.State.CAPTURED)
    settlement = accounts.internal(Account.Role.SETTLEMENT, currency=transfer.currency)
    return post(
        Leg(hold.account, -hold.amount),
        Leg(settlement, hold.amount),
        kind=Posting.Kind.CAPTURE,
        transfer=transfer,
        fact=True,
    )


def release(transfer: Transfer) -> None:
    """The money did not leave: it can be spent again. Released already, it changes nothing.

    Raises `BooksRefused` if nothing was held, or if it was paid out.
    """
    last = Hold.objects.filter(transfer=transfer).order_by("-pk").first()
    if last is None or last.state != Hold.State.RELEASED:
        _close(transfer, state=Hold.State.RELEASED)


def _close(transfer: Transfer, *, state: Hold.State) -> Hold:
    """Compare-and-set on the open hold, with its account locked first, as everywhere."""
    hold = Hold.objects.select_related("account").filter(transfer=transfer, state="open").first()
    if hold is not None:
        accounts.lock([hold.account])
        still_open = Hold.objects.filter(pk=hold.pk, state=Hold.State.OPEN)
        if still_open.update(state=state, closed_at=Now()):
            return hold
    raise errors.BooksRefused(f"{transfer} has no open hold to be {state}")
