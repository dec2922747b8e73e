"""What the API says of a transfer. One code, whether the answer is given now, later or rebuilt."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

import idempotency
from ledgerline.bank import errors
from ledgerline.bank.models import Transfer
from ledgerline.bank.money import masked

_LONGEST_WAIT = timedelta(seconds=60)

# What to do about a transfer that cannot be cancelled.
_INSTEAD = {
    Transfer.State.PENDING: (
        "It was sent and may have arrived. Ask for its outcome at Location: it will be fulfilled, "
        "or it fails and the money is yours again."
    ),
    Transfer.State.FULFILLED: "It is paid. Ask the payee to send the money back.",
    Transfer.State.FAILED: (
        "It failed, and the money is yours again: there is nothing to cancel. "
        "Send the order with a new key if it is still wanted."
    ),
    Transfer.State.REVERSED: "The money came back already: there is nothing to cancel.",
    Transfer.State.CANCELLED: "It is cancelled.",
}


def final(transfer: Transfer) -> idempotency.Answer:
    """The final answer to the request that made this transfer.

    A reversed transfer still answers as it did when it was paid; the resource at `Location` is
    the truth. Raises `ValueError` for a transfer without an outcome.
    """
    match Transfer.State(transfer.state):
        case Transfer.State.FULFILLED | Transfer.State.REVERSED:
            return created(transfer)
        case Transfer.State.FAILED:
            return _given_up(transfer, errors.TransferFailed)
        case Transfer.State.CANCELLED:
            return _given_up(transfer, errors.TransferCancelled)
        case Transfer.State.PENDING:
            raise ValueError(f"{transfer} has no outcome yet")


def created(transfer: Transfer) -> idempotency.Answer:
    """201: the money has moved."""
    paid = represent(transfer) | {"state": Transfer.State.FULFILLED.value, "reversedAt": None}
    return json_answer(201, paid, location=location(transfer))


def accepted(transfer: Transfer) -> idempotency.Answer:
    """202: the money is held and the order is on its way. Provisional, never stored."""
    return json_answer(
        202,
        represent(transfer),
        location=location(transfer),
        retry_after=str(retry_after(transfer)),
    )


def not_cancellable(transfer: Transfer) -> idempotency.Answer:
    """409: what stands in the way of cancelling, and what to do instead."""
    return idempotency.problem(
        errors.NOT_CANCELLABLE.code,
        detail=_INSTEAD[Transfer.State(transfer.state)],
        headers=(("Location", location(transfer)),),
        transfer_id=str(transfer.pk),
        state=str(transfer.state),
    )


def represent(transfer: Transfer) -> dict[str, Any]:
    """The transfer as its owner sees it; account numbers by their last characters only."""
    return {
        "id": str(transfer.pk),
        "reference": transfer.reference,
        "state": str(transfer.state),
        "amount": transfer.amount,
        "currency": transfer.currency,
        "fromAccount": masked(transfer.from_account.number),
        "toAccount": masked(transfer.to_account),
        "toBank": transfer.to_bank or None,
        "narration": transfer.narration,
        "createdAt": written_at(transfer.created_at),
        "decidedAt": written_at(transfer.decided_at),
        "reversedAt": written_at(transfer.reversed_at),
    }


def location(transfer: Transfer) -> str:
    """The address of the resource."""
    return reverse("bank:transfer", args=[transfer.pk])


def retry_after(transfer: Transfer) -> int:
    """Seconds until it is worth asking again: as long as it has been open, from 1 to 60.

    Most outcomes come within a second or two; the few that need a person take hours.
    """
    age = timezone.now() - transfer.created_at
    return max(1, round(min(age, _LONGEST_WAIT).total_seconds()))


def written_at(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC, to the microsecond."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def json_answer(status: int, content: dict[str, Any], **headers: str) -> idempotency.Answer:
    """An answer with `content` as JSON; header names with underscores for hyphens."""
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return idempotency.Answer(
        status=status,
        headers=tuple({"Content-Type": "application/json", **named}.items()),
        body=body,
    )


def _given_up(transfer: Transfer, refusal: type[errors.BankRefusal]) -> idempotency.Answer:
    return idempotency.problem(
        refusal.code,
        headers=(("Location", location(transfer)),),
        transfer_id=str(transfer.pk),
        state=str(transfer.state),
    )
