"""What the API says of a payment. One code, whether it is said now, after a crash or rebuilt."""

from typing import Any

from django.urls import reverse

import idempotency
from ledgerline.bank.answers import json_answer, written_at
from ledgerline.bank.models import Payment
from ledgerline.bank.money import masked


def opened(payment: Payment) -> idempotency.Answer:
    """201: the checkout is open. What it came to since then is told at `Location`."""
    as_opened = {"state": Payment.State.OPEN.value} | dict.fromkeys(_LATER)
    return json_answer(201, represent(payment) | as_opened, location=location(payment))


def represent(payment: Payment) -> dict[str, Any]:
    """The payment as its owner sees it; the number by its last digits only."""
    return {
        "id": str(payment.pk),
        "reference": payment.reference,
        "state": str(payment.state),
        "amount": payment.amount,
        "currency": payment.currency,
        "phone": masked(payment.phone),
        "narration": payment.narration,
        "checkoutUrl": payment.checkout_url,
        "createdAt": written_at(payment.created_at),
        "paidAt": written_at(payment.paid_at),
        "fulfilledAt": written_at(payment.fulfilled_at),
        "refundDueAt": written_at(payment.refund_due_at),
    }


def location(payment: Payment) -> str:
    """The address of the resource."""
    return reverse("bank:payment", args=[payment.pk])


_LATER = ("paidAt", "fulfilledAt", "refundDueAt")
