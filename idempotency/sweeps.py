"""What must happen to keys without a request: unknown outcomes are asked about until they are known."""

import logging
from datetime import timedelta

from idempotency import conf, leases, operations, takeover, transactions
from idempotency.checkpoints import checkpoint
from idempotency.claims import Claim
from idempotency.contract import Record
from idempotency.leased_claims import owned
from idempotency.operations import Terms
from idempotency.store import alias

log = logging.getLogger("idempotency")


def recover_due() -> int:
    """Ask about every call whose request came to no end: leases that ran out, holds that are due.

    Returns how many keys were asked about. What happened is settled; what did not is left to the
    client's next retry; what is still unknown is held. Safe at any time, any number of times at
    once: a key is in one pair of hands, and one that fails does not keep the others. Call it
    outside any transaction.
    """
    transactions.refuse_outer(alias(None))
    known = operations.registered()
    _report_orphans(list(known))
    return sum(_sweep(operation, terms) for operation, terms in known.items())


def release_abandoned() -> int:
    """Free the keys of requests that died before they sent anything; returns how many.

    Nothing can have happened under them, so nobody has to be asked, and no key is in progress for
    ever because its client never came back. Safe at any time, any number of times at once.
    """
    batch, freed = conf.current().batch, 0
    while (count := leases.forget_abandoned(batch=batch)) == batch:
        freed += count
    freed += count
    if freed:
        log.warning("abandoned keys freed", extra={"action": "abandoned_freed", "keys": freed})
    return freed


def _sweep(operation: str, terms: Terms) -> int:
    """One after the other: the last of a batch would be due again before its turn."""
    for count in range(conf.current().batch):
        taken = leases.take_due(operation, lease=terms.lease)
        if taken is None:
            return count
        token, row = taken
        checkpoint("leased.taken")
        mine = owned(_claim(row.record), token=token, terms=terms)
        try:
            takeover.conclude(mine, row.record, lease=timedelta(0))
        except Exception:
            # It stays taken until its new lease is over, then it is due again.
            log.exception("recovery of one key failed", extra=_about(row.record))
            transactions.revive(alias(None))
    return conf.current().batch


def _claim(record: Record) -> Claim:
    return Claim(record.scope, record.key, record.operation, record.fingerprint)


def _report_orphans(known: list[str]) -> None:
    """A view that was renamed or removed took its `recover` with it: a person must hear and decide."""
    leases.hold_orphans(known)
    for operation, count in leases.orphans(known).items():
        log.error(
            "nobody can ask about %s keys of %s",
            count,
            operation,
            extra={"action": "recovery_orphaned", "operation": operation, "keys": count},
        )


def _about(record: Record) -> dict[str, str]:
    return {
        "action": "recovery_failed",
        "operation": record.operation,
        "reference": record.reference,
    }
