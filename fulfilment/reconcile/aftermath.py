"""What comes after a verdict: a reversal follows it, a contradiction asks a person again."""

import logging

from fulfilment.errors import HandlerFailed
from fulfilment.models import CaseReason, Fulfilment, ProviderEvent
from fulfilment.reconcile import books, casebook, policy, tallies, timing
from fulfilment.reconcile.reading import situation_of
from fulfilment.reconcile.verdicts import Ask, Conflict, Reverse, Stand, Verdict

log = logging.getLogger(__name__)

_OVERRULED = "the provider was asked, and says that it was done"


def apply(row: Fulfilment, verdict: Verdict, *, actor: str) -> Fulfilment:
    """Book what was given back. What contradicts the verdict opens a case; the verdict stands."""
    if isinstance(verdict, Reverse):
        return books.apply(row, verdict, actor=actor)
    if isinstance(verdict, Conflict):
        _alert(row, verdict)
        tallies.late_success(row)
        casebook.open_case(row, reason=CaseReason.CONFLICT, actor=actor, note=verdict.reason)
    if isinstance(verdict, Ask):
        log.warning("a verdict is contested", extra=_extra("verdict_contested", row, verdict))
        timing.ask_about_decided(row)
    if isinstance(verdict, Stand) and verdict.overruled:
        _overrule(row, verdict)
    return row


def set_aside(row: Fulfilment, *, actor: str, why: HandlerFailed) -> Fulfilment:
    """Open a case for what was given back and is not in our books.

    Not where another worker settled the row after our own attempt had failed.
    """
    if isinstance(policy.decide(situation_of(row)), Reverse):
        casebook.open_case(row, reason=CaseReason.HANDLER_FAILED, actor=actor, note=str(why))
    return row


def _overrule(row: Fulfilment, verdict: Stand) -> None:
    """The report is kept as it came; on its page stands what became of it."""
    reports = ProviderEvent.objects.filter(evidence__in=verdict.overruled).exclude(
        reason=_OVERRULED
    )
    if reports.update(reason=_OVERRULED):
        log.warning("a report is overruled", extra=_extra("report_overruled", row, verdict))


def _alert(row: Fulfilment, verdict: Conflict) -> None:
    log.error("a verdict was contradicted", extra=_extra("verdict_contradicted", row, verdict))


def _extra(action: str, row: Fulfilment, verdict: Conflict | Ask | Stand) -> dict[str, str]:
    return {
        "action": action,
        "reference": row.reference,
        "state": str(row.state),
        "reason": verdict.reason,
    }
