"""One attempt, from the claim to the end: claim, mark, send, settle."""

import logging
import os
import socket
import time
from datetime import timedelta

from fulfilment import store
from fulfilment.checkpoints import checkpoint
from fulfilment.conf import conf
from fulfilment.connectors import registry
from fulfilment.connectors.base import Instruction, NotSent, Outcome, Refused, Unknown
from fulfilment.dispatch.bars import bar_of
from fulfilment.dispatch.claim import Claimed, claim
from fulfilment.errors import Gone
from fulfilment.models import Attempt, Fulfilment
from fulfilment.reconcile import budget, resolve, timing
from fulfilment.reconcile.evidence import Source, Statement, statement_of
from fulfilment.reconcile.record import record

log = logging.getLogger(__name__)

_TOO_LATE = NotSent(reason="the worker woke up too late to call")


def run(fulfilment_id: int, *, worker: str | None = None) -> Fulfilment | None:
    """Send the row's effect, if it is due and free. Returns the row afterwards, or None.

    At most one call, and none that is not marked first. Interrupted anywhere, it leaves a row
    that the sweeper understands.
    """
    claimed = _claim(fulfilment_id, worker=worker or worker_name())
    if claimed is None:
        return None
    checkpoint("dispatch.claimed")
    if bar := bar_of(claimed):
        return settle(claimed, bar)
    if not mark(claimed):
        log.warning("attempt lost before it was sent", extra=_extra("attempt_lost", claimed))
        return None
    checkpoint("dispatch.marked")
    outcome = send(claimed)
    checkpoint("dispatch.answered")
    row = settle(claimed, outcome)
    # After the answer is kept. That we woke up too late says nothing about the provider.
    if outcome is not _TOO_LATE:
        budget.heard(claimed.fulfilment.connector, informed=budget.is_answer(outcome))
    return row


def mark(claimed: Claimed) -> bool:
    """Commit that a call is about to be made; False: it must not be made."""
    return store.mark_sent(claimed.attempt.token, call=_call())


def send(claimed: Claimed) -> Outcome:
    """Make the call, outside any transaction. Never raises: what cannot be told is `Unknown`."""
    settings = conf()
    connector = registry.connector(claimed.fulfilment.connector)
    # A worker may have been paused since the mark. Its lease, by its own steady clock, must
    # still cover the whole call, or somebody else may act on "it is over".
    if time.monotonic() > claimed.begun + (settings.lease - _call()).total_seconds():
        return _TOO_LATE
    try:
        return connector.send(_instruction(claimed.fulfilment, deadline=settings.total_deadline))
    except Exception as error:
        log.exception("connector raised", extra=_extra("connector_raised", claimed))
        return Unknown(reason=f"the connector raised {type(error).__name__}")


def settle(claimed: Claimed, outcome: Outcome) -> Fulfilment | None:
    """Keep the answer, then end the attempt with it and judge the row.

    With a dead token nothing is decided here: the answer is evidence like any other.
    """
    statement = statement_of(outcome)
    if isinstance(outcome, Refused):
        log.error("the provider refuses us", extra=_extra("refused_by_provider", claimed))
    try:
        evidence = record(
            claimed.fulfilment,
            statement,
            source=Source.RESPONSE,
            actor=claimed.attempt.worker,
            attempt=claimed.attempt,
        )
    except Gone:
        log.exception("the answer belongs to no row", extra=_extra("answer_orphaned", claimed))
        return None
    return _end(claimed, statement, evidence=evidence.pk)


def _end(claimed: Claimed, statement: Statement, *, evidence: int) -> Fulfilment | None:
    def close(row: Fulfilment) -> Attempt | None:
        alive = store.close(claimed.attempt.token, outcome=_word(statement))
        return claimed.attempt if alive else None

    row = resolve.leave_dispatching(
        claimed.fulfilment.pk, close=close, actor=claimed.attempt.worker, news=[evidence]
    )
    if row is None:
        log.warning("the answer came after we gave up", extra=_extra("answer_late", claimed))
        row = resolve.resolve(claimed.fulfilment.pk, news=[evidence])
    return row


def worker_name() -> str:
    """Who acts, for the journal."""
    return f"worker:{socket.gethostname()}:{os.getpid()}"[:128]


def _claim(fulfilment_id: int, *, worker: str) -> Claimed | None:
    """A row that cannot even be judged waits longer, or it would be the first in every round."""
    try:
        return claim(fulfilment_id, worker=worker)
    except Exception:
        log.exception("claim failed", extra={"action": "claim_failed", "id": fulfilment_id})
        timing.postpone(fulfilment_id)
        return None


def _instruction(row: Fulfilment, *, deadline: timedelta) -> Instruction:
    return Instruction(
        reference=row.reference,
        amount=row.amount,
        currency=row.currency,
        instruction=row.instruction,
        deadline=deadline,
    )


def _call() -> timedelta:
    """How much of the lease a call must find in front of it."""
    return conf().total_deadline + conf().margin


def _word(statement: Statement) -> str:
    return statement.finding.value


def _extra(action: str, claimed: Claimed) -> dict[str, object]:
    return {
        "action": action,
        "reference": claimed.fulfilment.reference,
        "attempt": claimed.attempt.number,
    }
