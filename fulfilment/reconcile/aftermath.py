"""What comes after a verdict: a reversal follows it, a contradiction asks a person again."""

import logging

from fulfilment.errors import HandlerFailed
from fulfilment.models import CaseReason, Fulfilment
from fulfilment.reconcile import books, casebook, policy, tallies
from fulfilment.reconcile.reading import situation_of
from fulfilment.reconcile.verdicts import Conflict, Reverse, Verdict

log = logging.getLogger(__name__)


def apply(row: Fulfilment, verdict: Verdict, *, actor: str) -> Fulfilment:
    """Book what was given back. What contradicts the verdict opens a case; the verdict stands."""
    if isinstance(verdict, Reverse):
        return books.apply(row, verdict, actor=actor)
    if isinstance(verdict, Conflict):
        _alert(row, verdict)
        tallies.late_success(row)
        casebook.open_case(row, reason=CaseReason.CONFLICT, actor=actor, note=verdict.reason)
    return row


def set_aside(row: Fulfilment, *, actor: str, why: HandlerFailed) -> Fulfilment:
    """Open a case for what was given back and is not in our books.

    Not where another worker settled the row after our own attempt had failed.
    """
    if isinstance(policy.decide(situation_of(row)), Reverse):
        casebook.open_case(row, reason=CaseReason.HANDLER_FAILED, actor=actor, note=str(why))
    return row


def _alert(row: Fulfilment, verdict: Conflict) -> None:
    log.error(
        "a verdict was contradicted",
        extra={
            "action": "verdict_contradicted",
            "reference": row.reference,
            "state": str(row.state),
            "reason": verdict.reason,
        },
    )
