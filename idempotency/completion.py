"""`complete()`: whoever learns a deferred outcome gives the key its final answer."""

import logging
from uuid import UUID

from django.db import transaction

from idempotency import cache, store
from idempotency.contract import Answer
from idempotency.key import reference_of

log = logging.getLogger("idempotency")


def complete(scope: UUID, key: str, answer: Answer, *, using: str | None = None) -> bool:
    """Store the final answer of a deferred key; every retry gets it from then on.

    Joins the caller's transaction, so that outcome and answer commit together. Only a deferred key
    is touched: False, and a log line, if it is unknown, leased, held or finished. That never undoes
    the caller's verdict. A status of 5xx is refused by the database (IntegrityError).
    """
    fingerprint = store.complete(scope, key, answer, using=using)
    about = {"reference": reference_of(scope, key), "status": answer.status}
    if fingerprint is None:
        log.warning("no deferred key to complete", extra={"action": "complete_missed"} | about)
        return False
    transaction.on_commit(
        lambda: _remember(scope, key, fingerprint, answer), using=store.alias(using), robust=True
    )
    log.info("deferred key completed", extra={"action": "completed"} | about)
    return True


def _remember(scope: UUID, key: str, fingerprint: str, answer: Answer) -> None:
    slot = cache.slot_of(scope, key, fingerprint)
    if slot is not None:
        slot.put(answer)
