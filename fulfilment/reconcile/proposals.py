"""A verdict that waits for a second person. What is learnt meanwhile voids it."""

from collections.abc import Iterable

from fulfilment.conf import conf
from fulfilment.errors import VerdictRefused
from fulfilment.models import CaseAction, Evidence, Finding, Fulfilment, Source
from fulfilment.reconcile import casebook
from fulfilment.reconcile.verdicts import AGAIN

VOIDER = "resolver"
_THEIRS = (Source.RESPONSE, Source.LOOKUP, Source.WEBHOOK, Source.STATEMENT)


def second_person_needed(row: Fulfilment) -> bool:
    """Is it above the limit of its currency?"""
    limit = conf().second_person_above.get(row.currency)
    return limit is not None and row.amount > limit


def standing(row: Fulfilment) -> CaseAction | None:
    """The proposal on the row's open case, as it is on record."""
    case = casebook.current(row)
    return casebook.standing(case) if case is not None else None


def refuse_another(row: Fulfilment, *, actor: str) -> None:
    """One proposal at a time: whoever thinks otherwise turns the first one down."""
    proposal = standing(row)
    if proposal is None:
        return
    if proposal.actor == actor:
        raise VerdictRefused("You have proposed a verdict already: it needs a second person.")
    raise VerdictRefused("A verdict is proposed already: approve it, or turn it down first.")


def refresh(row: Fulfilment, *, news: Iterable[int] = ()) -> CaseAction | None:
    """Void the open proposal if something was learnt after it. Returns what stands then.

    Under the row's lock. `news` are ids of evidence that was judged just now, which may have been
    recorded before the proposal and seen by nobody.
    """
    proposal = standing(row)
    if proposal is None:
        return None
    why = voided_by(row, proposal, news=news)
    if not why:
        return proposal
    casebook.write(
        proposal.case, CaseAction.Action.VOIDED, actor=VOIDER, verdict=proposal.verdict, note=why
    )
    return None


def voided_by(row: Fulfilment, proposal: CaseAction, *, news: Iterable[int] = ()) -> str:
    """What was learnt or happened after the proposal, in words; empty where nothing was.

    The same answer once more is nothing new, nor is a provider that could not be asked: a row
    under steady look-ups could otherwise never be decided by two people.
    """
    if row.transitions.filter(moved_at__gt=proposal.acted_at).exists():
        return "the payment was moved after the proposal"
    judged = set(news)
    theirs = row.evidence.filter(source__in=_THEIRS).exclude(finding=Finding.NO_INFORMATION)
    if proposal.verdict == AGAIN:  # that it was not done is what the proposal says, too
        theirs = theirs.exclude(finding=Finding.NOT_DONE)
    known: set[tuple[object, ...]] = set()
    for evidence in theirs.order_by("id"):
        is_new = evidence.recorded_at > proposal.acted_at or evidence.pk in judged
        if is_new and _said(evidence) not in known:
            return f"the provider said meanwhile: {evidence.get_finding_display()}"
        known.add(_said(evidence))
    return ""


def _said(evidence: Evidence) -> tuple[object, ...]:
    return (evidence.finding, evidence.amount, evidence.currency, evidence.provider_id)
