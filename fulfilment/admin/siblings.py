"""Other references of this payment, and other payments of its amount to its payee.

The first thing to rule out is a twin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.money import money
from fulfilment.models import Fulfilment
from idempotency.times import when

LIMIT = 20  # a page for people; whoever has more twins than this has another problem


@dataclass(frozen=True, slots=True)
class Sibling:
    """One other payment, as a table row."""

    fulfilment: Fulfilment
    badge: words.Badge
    amount: str
    time: SafeString
    same: str  # which reference of this very payment it is; empty: another payment


def siblings(dossier: Dossier) -> list[Sibling]:
    """This payment's own first, then newest first; of others only where a payee is named."""
    f = dossier.fulfilment
    payee = payee_of(f.instruction)
    alike = Fulfilment.objects.none()
    if payee:
        alike = Fulfilment.objects.filter(
            amount=f.amount, currency=f.currency, instruction__contains=payee
        ).exclude(payment_id=f.payment_id)
    own = Fulfilment.objects.filter(payment_id=f.payment_id).exclude(pk=f.pk)
    rows = [*own.order_by("-generation"), *alike.order_by("-created_at")[:LIMIT]]
    return [
        Sibling(
            row,
            words.badge(row.state),
            money(row.amount, row.currency),
            when(row.created_at, now=dossier.now),
            f"This payment, reference {row.generation}" if row.payment_id == f.payment_id else "",
        )
        for row in rows
    ]


def payee_of(instruction: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the instruction that names the payee's number, in its own nesting."""
    number = words.number_of(instruction)
    if not number:
        return {}
    for key, value in instruction.items():
        if value == number:
            return {key: value}
        if isinstance(value, Mapping) and (inner := payee_of(value)):
            return {key: inner}
    return {}
