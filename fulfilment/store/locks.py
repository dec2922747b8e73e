"""The rows, locked. Always before any row that hangs on them."""

from typing import Any

from fulfilment.models import Fulfilment


def lock(fulfilment_id: int) -> Fulfilment:
    """The row, locked until the transaction ends. Always before any row that hangs on it."""
    return Fulfilment.objects.select_for_update(no_key=True).get(pk=fulfilment_id)


def lock_payment(payment_id: str) -> Fulfilment | None:
    """The payment's newest row, locked until the transaction ends; None where there is none."""
    rows = Fulfilment.objects.select_for_update(no_key=True).filter(payment_id=payment_id)
    return rows.order_by("-generation").first()


def lock_unless_taken(fulfilment_id: int, **conditions: Any) -> Fulfilment | None:
    """The row, locked, unless `conditions` are not so (any more) or somebody else works on it."""
    rows = Fulfilment.objects.select_for_update(no_key=True, skip_locked=True)
    return rows.filter(pk=fulfilment_id, **conditions).first()
