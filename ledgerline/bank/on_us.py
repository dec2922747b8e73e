"""Transfers between accounts of ours: the database makes them in one call, and says why it does not."""

from typing import Any

from django.db import connections, router

from ledgerline.bank import errors
from ledgerline.bank.models import Account, Transfer

# Looks for an earlier transfer of the reference, judges, locks, writes; see the migration.
PAY = """
SELECT refusal, field, from_id, from_number, made_at
  FROM bank_pay_on_us(
       p_id => %(id)s, p_reference => %(reference)s, p_user => %(user)s, p_key => %(key)s,
       p_request_hash => %(request_hash)s, p_from => %(from)s, p_to => %(to)s,
       p_amount => %(amount)s, p_currency => %(currency)s, p_narration => %(narration)s)
"""

_REFUSALS = {refusal.code: refusal for refusal in errors.REFUSALS}


def pay(transfer: Transfer, *, from_number: str | None) -> None:
    """Move the money and write the transfer down, in the caller's transaction.

    From the payer's account of that number, or from the oldest in the currency. `transfer` gets what
    the database decided: its account and its times. Raises `MadeBefore`, `UnknownAccount`,
    `UnknownPayee`, `CurrencyMismatch`, `SameAccount`, `AccountFrozen`, `UserFrozen` or
    `InsufficientBalance`; nothing is written then.
    """
    using = router.db_for_write(Transfer)
    with connections[using].cursor() as cursor:
        cursor.execute(PAY, _values(transfer, from_number))
        refusal, field, from_id, from_number, made_at = cursor.fetchone()
    if refusal == errors.MadeBefore.code:
        raise errors.MadeBefore
    if refusal is not None:
        raise _REFUSALS[refusal](**({} if field is None else {"field": field}))
    transfer.from_account = Account.from_db(using, ["id", "number"], [from_id, from_number])
    transfer.created_at = transfer.decided_at = made_at
    transfer._state.adding, transfer._state.db = False, using  # noqa: SLF001  Django documents it


def _values(transfer: Transfer, from_number: str | None) -> dict[str, Any]:
    return {
        "id": transfer.pk,
        "reference": transfer.reference,
        "user": transfer.user_id,
        "key": transfer.idempotency_key,
        "request_hash": transfer.request_hash,
        "from": from_number,
        "to": transfer.to_account,
        "amount": transfer.amount,
        "currency": transfer.currency,
        "narration": transfer.narration,
    }
