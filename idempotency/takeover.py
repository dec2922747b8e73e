"""Takes a key over from a request that came to no end: ask first what became of it, then act."""

import logging
from datetime import timedelta
from functools import partial
from typing import assert_never

from idempotency import claims, contract, errors, leases, recovery, responses, transactions
from idempotency.checkpoints import checkpoint
from idempotency.claims import Claim
from idempotency.contract import Decision, Record, Status
from idempotency.endings import Settled
from idempotency.leased_claims import LeasedClaim, owned
from idempotency.operations import Terms
from idempotency.recovery import Done, NotDone, Unknown

log = logging.getLogger("idempotency")


def take(claim: Claim, terms: Terms, standing: Decision) -> LeasedClaim | Settled | Decision:
    """The key, if its owner is late and its request may run (again); else what its client gets.

    `standing` was just read in the way. Another request never gets this far: the fingerprint is
    compared first, and once more in the statement that takes the key.
    """
    if not isinstance(standing, contract.Expired | contract.Held):
        return standing
    taken = leases.take_over(
        claim.scope, claim.key, fingerprint=claim.fingerprint, lease=terms.lease
    )
    if taken is None:  # the next check is not due, or somebody else was first
        return standing if isinstance(standing, contract.Held) else claims.standing(claim)
    token, row = taken
    checkpoint("leased.taken")
    mine = owned(claim, token=token, terms=terms)
    if not is_doubtful(row.record):
        return mine
    found = conclude(mine, row.record, lease=terms.lease)
    return mine if found is None else found


def is_doubtful(record: Record) -> bool:
    """May the other system have heard of it? Then it is asked before anything runs again."""
    return record.sent_at is not None or record.held_at is not None


def conclude(mine: LeasedClaim, record: Record, *, lease: timedelta) -> Settled | Decision | None:
    """Ask what became of it, and settle or hold accordingly. None: nothing happened.

    Then the key has a new `lease`, without the mark: its owner may run the request. A lease of no
    length leaves the key to the next retry.
    """
    found = recovery.ask(mine.terms.recover, record)
    checkpoint("leased.asked")
    try:
        match found:
            case Done():
                return _settled(mine, found)
            case NotDone():
                mine.restart(lease=lease)
                return None
            case Unknown(reason):
                return mine.hold(reason)
            case _:
                assert_never(found)
    except errors.ClaimLost:  # asking took longer than the lease, or a person decided meanwhile
        standing = claims.standing(mine)
        if isinstance(found, Done) and _contradicts(found, standing):
            _report_late(mine)
        return standing


def _settled(mine: LeasedClaim, done: Done) -> Settled | Decision:
    """A replay to whoever asked: the work was the earlier request's."""
    try:
        answer = mine.settle(partial(recovery.answer_of, done))
    except errors.ClaimLost:
        raise
    except Exception as error:
        if transactions.is_outage(error):
            raise
        about = {"operation": mine.operation, "reference": mine.reference}
        log.exception("recovery not settled", extra={"action": "recovery_failed"} | about)
        return mine.hold(f"what was found could not be stored: {type(error).__name__}")
    first = responses.respond(answer, replayed=True)
    return Settled(responses.Captured(answer, first), replayed=True)


def _contradicts(done: Done, standing: Decision) -> bool:
    """Does what stands deny what was found? Not if another asker settled the key by the same truth."""
    found = Status.COMPLETED if callable(done.answer) else done.answer.outcome
    return not isinstance(standing, contract.Replay) or standing.answer.outcome is not found


def _report_late(mine: LeasedClaim) -> None:
    """A person was faster and decided otherwise: somebody has to hear of it."""
    about = {"operation": mine.operation, "reference": mine.reference}
    log.error("found too late what happened", extra={"action": "recovery_late"} | about)
