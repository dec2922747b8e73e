"""What an outcome does to the books, in the transaction that decides it.

Ledger, transfer and idempotency key move together: the phone's next retry gets the final answer.
"""

from typing import TYPE_CHECKING

import fulfilment as fulfilments
import idempotency
from ledgerline.bank import answers, corrections, errors, holds, transfers
from ledgerline.bank.models import Posting, Transfer
from ledgerline.bank.posting import undo

if TYPE_CHECKING:
    from fulfilment.models import Evidence, Fulfilment


def register() -> None:
    """Called once, when the app is ready."""
    handlers = fulfilments.Handlers(
        on_fulfilled=on_fulfilled,
        on_failed=on_failed,
        on_reversed=on_reversed,
        on_cancelled=on_cancelled,
        corrections=corrections.corrections(),
    )
    fulfilments.register(transfers.KIND, handlers)


def on_fulfilled(fulfilment: "Fulfilment", evidence: "Evidence") -> None:
    """The payee has the money: capture the hold, tell the phone 201.

    Raises `CorrectionDue` for a transfer that was given up already: undoing what a client was
    told is a correction, and that is decided by a person.
    """
    transfer = _locked(fulfilment)
    if transfer.state == Transfer.State.FAILED:
        raise errors.CorrectionDue(f"{transfer} was given up before it turned out to be paid")
    _decide(transfer, state=Transfer.State.FULFILLED)
    holds.capture(transfer)
    _tell(transfer)


def on_failed(fulfilment: "Fulfilment", evidence: "Evidence") -> None:
    """The payee did not get the money: release the hold, tell the phone `transfer_failed`."""
    transfer = _locked(fulfilment)
    _decide(transfer, state=Transfer.State.FAILED)
    holds.release(transfer)
    _tell(transfer)


def on_cancelled(fulfilment: "Fulfilment") -> None:
    """Nothing was ever sent: release the hold, tell the phone `transfer_cancelled`."""
    transfer = _locked(fulfilment)
    _decide(transfer, state=Transfer.State.CANCELLED)
    holds.release(transfer)
    _tell(transfer)


def on_reversed(fulfilment: "Fulfilment", evidence: "Evidence") -> None:
    """The money came back: a new posting. The key keeps its answer, the resource tells the truth."""
    transfer = _locked(fulfilment)
    transfers.move(transfer, before=Transfer.State.FULFILLED, to=Transfer.State.REVERSED)
    # Whoever gave it gets it back: after a correction that need not be the customer alone.
    paid_out = transfer.postings.get(kind__in=[Posting.Kind.CAPTURE, Posting.Kind.CORRECTION])
    undo(paid_out, kind=Posting.Kind.REVERSAL)


def _locked(fulfilment: "Fulfilment") -> Transfer:
    return transfers.locked(transfers.reference_of_payment(fulfilment.payment_id))


def _decide(transfer: Transfer, *, state: Transfer.State) -> None:
    transfers.move(transfer, before=Transfer.State.PENDING, to=state)


def _tell(transfer: Transfer) -> None:
    """A key that is no longer there (0 rows) is logged by `complete` and never undoes a verdict."""
    idempotency.complete(transfer.user_id, transfer.idempotency_key, answers.final(transfer))
