"""`complete()`: whoever learns a deferred outcome gives the key its final answer.

`correct()`: the one case in which a final answer changes. `answer_of()`: what is stored.
"""

import logging
from uuid import UUID

from django.db import transaction

from idempotency import cache, store
from idempotency.contract import Answer, Record, Status
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


def answer_of(scope: UUID, key: str, *, using: str | None = None) -> Answer | None:
    """The final answer that is stored for the key; None while there is none."""
    found = store.read(scope, key, using=using)
    return None if found is None else found.record.answer


def correct(scope: UUID, key: str, answer: Answer, *, using: str | None = None) -> bool:
    """Replace a stored refusal by the success that it turned out to be; retries get that.

    Joins the caller's transaction. Only a refusal that invited a new key is replaced: such an
    answer is never cached, so the old one cannot come back from there. False, and a log line, for
    every other key; that never undoes the caller's correction. Raises ValueError unless `answer`
    is a success.
    """
    if answer.outcome is not Status.COMPLETED:
        raise ValueError("A correction turns a stored refusal into a success, and nothing else.")
    about = {"reference": reference_of(scope, key), "status": answer.status}
    found = store.read(scope, key, using=using)
    correctable = found is not None and _correctable(found.record)
    fingerprint = store.correct(scope, key, answer, using=using) if correctable else None
    if fingerprint is None:
        log.warning("no refusal to correct", extra={"action": "correct_missed"} | about)
        return False
    transaction.on_commit(
        lambda: _remember(scope, key, fingerprint, answer), using=store.alias(using), robust=True
    )
    log.warning("stored answer corrected", extra={"action": "answer_corrected"} | about)
    return True


def _correctable(record: Record) -> bool:
    refused = record.status is Status.FAILED and record.answer is not None
    return refused and record.answer.invites_new_key  # type: ignore[union-attr]  # by `refused`


def _remember(scope: UUID, key: str, fingerprint: str, answer: Answer) -> None:
    slot = cache.slot_of(scope, key, fingerprint)
    if slot is not None:
        slot.put(answer)
