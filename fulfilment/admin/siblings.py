"""Other payments to the same payee of the same amount: the first thing to rule out is a twin."""

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


def siblings(dossier: Dossier) -> list[Sibling]:
    """Newest first; empty when the instruction names no payee (then nothing is comparable)."""
    f = dossier.fulfilment
    payee = payee_of(f.instruction)
    if not payee:
        return []
    alike = Fulfilment.objects.filter(
        amount=f.amount, currency=f.currency, instruction__contains=payee
    )
    rows = alike.exclude(pk=f.pk).order_by("-created_at")[:LIMIT]
    return [
        Sibling(
            row,
            words.badge(row.state),
            money(row.amount, row.currency),
            when(row.created_at, now=dossier.now),
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
