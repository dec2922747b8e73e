"""Late truth in the books: a transfer was given up, its customer was told so, and it was paid.

A fact is never refused: what the customer does not have any more is carried by suspense.
"""

from typing import TYPE_CHECKING

import fulfilment as fulfilments
import idempotency
from ledgerline.bank import accounts, answers, errors, transfers
from ledgerline.bank.models import Account, Posting, Transfer
from ledgerline.bank.money import written
from ledgerline.bank.posting import Leg, post

if TYPE_CHECKING:
    from fulfilment.models import Evidence, Fulfilment

_PAID_OR_GIVEN_UP = (Transfer.State.FAILED, Transfer.State.FULFILLED, Transfer.State.REVERSED)


def corrections() -> fulfilments.Corrections:
    """How transfers take late truth."""
    return fulfilments.Corrections(
        twin=twin, on_corrected=on_corrected, on_paid_twice=on_paid_twice
    )


def twin(fulfilment: "Fulfilment") -> str:
    """The customer's later transfer for the same thing, in words; empty where none lives."""
    reference = transfers.reference_of_payment(fulfilment.payment_id)
    transfer = Transfer.objects.get(reference=reference)
    later = transfers.later_twin(transfer)
    return f"the customer's later transfer {later.pk}, which is {later.state}" if later else ""


def on_corrected(fulfilment: "Fulfilment", evidence: "Evidence") -> fulfilments.Corrected:
    """Take the money again, as far as it is there; the phone's next retry gets 201.

    Raises `BooksRefused` where a later transfer for the same thing came up in this very moment.
    """
    transfer = _locked(fulfilment)
    # An order of the same customer holds this lock until it is committed: no twin is missed.
    account = accounts.lock([transfer.from_account])[transfer.from_account_id]
    if transfers.later_twin(transfer) is not None:
        raise errors.BooksRefused("a later transfer for the same thing came up: look again")
    transfers.move(transfer, before=Transfer.State.FAILED, to=Transfer.State.FULFILLED)
    taken = min(account.available, transfer.amount)
    _post(transfer, taken=taken, kind=Posting.Kind.CORRECTION)
    replaced = idempotency.correct(
        transfer.user_id, transfer.idempotency_key, answers.final(transfer)
    )
    missing = transfer.amount - taken
    return fulfilments.Corrected(
        note=_told(transfer, taken=taken, replaced=replaced), unsettled=missing > 0
    )


def on_paid_twice(fulfilment: "Fulfilment", evidence: "Evidence") -> str:
    """The customer has the payment once, by a later transfer or a newer reference of this one.

    The bank's suspense carries what went out beside it.
    """
    transfer = _locked(fulfilment)
    if transfer.state not in _PAID_OR_GIVEN_UP:
        raise errors.BooksRefused(
            f"{transfer} is {transfer.state}: it is not known to be paid twice"
        )
    _post(transfer, taken=0, kind=Posting.Kind.PAID_TWICE, reference=fulfilment.reference)
    carried = written(transfer.amount, transfer.currency)
    told = "transfer_failed" if transfer.state == Transfer.State.FAILED else "that it was paid"
    return (
        f"Suspense carries {carried}; the customer's account is not touched, and the app's answer "
        f"stays {told}. Get the money back from the payee."
    )


def _locked(fulfilment: "Fulfilment") -> Transfer:
    return transfers.locked(transfers.reference_of_payment(fulfilment.payment_id))


def _post(transfer: Transfer, *, taken: int, kind: Posting.Kind, reference: str = "") -> None:
    currency = transfer.currency
    settlement = accounts.internal(Account.Role.SETTLEMENT, currency=currency)
    suspense = accounts.internal(Account.Role.SUSPENSE, currency=currency)
    given = (Leg(transfer.from_account, -taken), Leg(suspense, taken - transfer.amount))
    post(
        *(leg for leg in given if leg.amount),
        Leg(settlement, transfer.amount),
        kind=kind,
        transfer=transfer,
        reference=reference,
        fact=True,
    )


def _told(transfer: Transfer, *, taken: int, replaced: bool) -> str:
    missing, currency = transfer.amount - taken, transfer.currency
    parts = [f"{written(taken, currency)} was taken from the customer's account."] if taken else []
    if missing:
        parts.append(f"{written(missing, currency)} was not there any more: suspense carries it.")
    parts.append(
        "The app's stored answer transfer_failed is replaced by 201."
        if replaced
        else "The app's key holds no refusal any more; a late retry is answered by the transfer."
    )
    return " ".join(parts)
