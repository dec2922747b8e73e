"""Double entry: what one account gives, others receive, in one posting."""

from dataclasses import dataclass

from ledgerline.bank import accounts, errors
from ledgerline.bank.models import Account, Entry, Payment, Posting, Transfer


@dataclass(frozen=True, slots=True)
class Leg:
    """One account's share: positive minor units are received, negative ones given."""

    account: Account
    amount: int


def post(
    *legs: Leg,
    kind: Posting.Kind,
    transfer: Transfer | None = None,
    payment: Payment | None = None,
    description: str = "",
    reference: str = "",
    fact: bool = False,
) -> Posting:
    """Write one posting. Call inside the transaction that it belongs to.

    A `fact` is something that has happened already: a frozen account does not stop it.
    Raises `InsufficientBalance`, `AccountFrozen`, `UserFrozen`. That the legs sum to zero is
    checked by the database at commit.
    """
    locked = accounts.lock(leg.account for leg in legs)
    for leg in legs:
        if leg.account.pk in locked:
            _refuse(leg, locked[leg.account.pk], fact=fact)
    posting = Posting.objects.create(
        kind=kind,
        transfer=transfer,
        payment=payment,
        description=description,
        reference=reference,
    )
    Entry.objects.bulk_create(
        Entry(
            posting=posting,
            account=leg.account,
            amount=leg.amount,
            currency=leg.account.currency,
        )
        for leg in legs
    )
    return posting


def undo(posting: Posting, *, kind: Posting.Kind) -> Posting:
    """Write the opposite of a posting, share by share; the posting itself stays as it is.

    Something that has happened: a frozen account does not stop it. Raises `InsufficientBalance`.
    """
    entries = posting.entries.select_related("account").order_by("id")
    legs = [Leg(entry.account, -entry.amount) for entry in entries]
    return post(*legs, kind=kind, transfer=posting.transfer, fact=True)


def _refuse(leg: Leg, account: Account, *, fact: bool) -> None:
    """`account` is the leg's account as locked: the leg's own copy may be old."""
    gives = leg.amount < 0
    if not fact and gives:
        accounts.refuse_frozen_payer(account)
    elif not fact:
        accounts.refuse_frozen_payee(account)
    if gives and account.available + leg.amount < 0:
        raise errors.InsufficientBalance
