"""Where a fulfilment begins: in the transaction of the key or event that asks for it."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.module_loading import import_string

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.errors import UnknownConnector
from fulfilment.handlers import handlers_of
from fulfilment.models import Fulfilment
from fulfilment.states import reference_of

log = logging.getLogger(__name__)


def start(
    *,
    kind: str,
    event_id: str,
    payment_id: str,
    connector: str,
    amount: int,
    currency: str,
    instruction: Mapping[str, Any],
    actor: str,
) -> Fulfilment:
    """Ask for one external effect, once per payment, in the caller's transaction.

    `amount` in minor units. Whatever asks again (the same event, another event of the payment)
    gets the row that exists, as it is. A worker hears of it after the commit; if it does not,
    the poller finds the row. Raises `UnknownKind` and `UnknownConnector` before anything is
    written: neither could ever be settled.
    """
    handlers_of(kind)
    if connector not in conf().connectors:
        raise UnknownConnector(f"No connector {connector!r} is configured.")
    # Looked for first: an insert waits for whoever is moving the payment's row, and that one may wait
    # for the business row that our caller has locked.
    found = _of_payment(payment_id)
    if found is None:
        at = store.now()
        row = Fulfilment(
            kind=kind,
            event_id=event_id,
            payment_id=payment_id,
            reference=reference_of(payment_id, connector=connector, generation=1),
            connector=connector,
            amount=amount,
            currency=currency,
            instruction=dict(instruction),
            next_check_at=at,
            started_by=actor,
            created_at=at,
            state_changed_at=at,
        )
        # ON CONFLICT DO NOTHING without a target: event, payment and reference all refuse a second.
        Fulfilment.objects.bulk_create([row], ignore_conflicts=True)
        found = _inserted(event_id=event_id, payment_id=payment_id)
    transaction.on_commit(partial(hint, found.pk), robust=True)
    return found


def _inserted(*, event_id: str, payment_id: str) -> Fulfilment:
    """The payment's row; an event that paid for another payment leads to that one."""
    return _of_payment(payment_id) or Fulfilment.objects.get(event_id=event_id, generation=1)


def _of_payment(payment_id: str) -> Fulfilment | None:
    return Fulfilment.objects.filter(payment_id=payment_id).order_by("-generation").first()


def hint(fulfilment_id: int) -> None:
    """Tell a worker of a row that is due."""
    tell(conf().hint, fulfilment_id)


def tell(path: str | None, subject: int) -> None:
    """Only a hint: the row decides, and the poller finds what was not heard."""
    if path is None:
        return
    try:
        import_string(path)(subject)
    except Exception:  # a dead broker must not spoil an answer that is committed
        log.warning("hint lost", extra={"action": "hint_lost"}, exc_info=True)
