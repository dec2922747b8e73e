"""A verdict that waits for a second person: who proposed it, and what that person may do."""

from collections.abc import Iterator

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.access import Access
from fulfilment.admin.afterwards import consequences_of_correcting
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.outcomes import Outcome
from fulfilment.admin.verdicts import consequences_of, missing, not_fenced
from fulfilment.models import CaseAction
from fulfilment.reconcile import rulings
from fulfilment.states import State
from idempotency.times import when


def sentence(dossier: Dossier) -> SafeString:
    """Who proposed what, when, on which evidence; empty where nothing is proposed."""
    proposal = dossier.proposal
    if proposal is None:
        return SafeString()
    return format_html(
        "<strong>{} proposed “{}”</strong> at {}, on “{}”.{} It needs a second person.",
        words.who(proposal.actor),
        _word(proposal),
        when(proposal.acted_at, now=dossier.now),
        words.hide(proposal.evidence_reference, dossier.number),
        _note(proposal, dossier),
    )


def outcomes(dossier: Dossier, proposal: CaseAction, access: Access) -> tuple[Outcome, Outcome]:
    """Approve, and turn down; nothing else is decided while a proposal is open."""
    return (_approve(dossier, proposal, access), _withdraw(dossier, proposal, access))


def _approve(dossier: Dossier, proposal: CaseAction, access: Access) -> Outcome:
    to, _ = rulings.read(proposal.verdict)
    correction = rulings.is_correction(dossier.fulfilment, to=to)
    lines = (
        consequences_of_correcting(dossier)
        if correction
        else consequences_of(dossier, proposal.verdict)
    )
    return Outcome(
        "approve",
        f"Approve: {_word(proposal)}",
        lines,
        tuple(_not_approvable(dossier, proposal, access)),
        "done" if to is State.FULFILLED else "not-done",
        step="approve",
    )


def _withdraw(dossier: Dossier, proposal: CaseAction, access: Access) -> Outcome:
    own = proposal.actor == access.actor
    label = "Withdraw your proposal" if own else "Turn the proposal down"
    lines = ("Nothing moves. The case stays open, and another verdict can be proposed.",)
    blocked = () if own else missing(access, _permission(dossier, proposal))
    return Outcome("withdraw", label, lines, blocked, step="withdraw")


def _not_approvable(
    dossier: Dossier, proposal: CaseAction, access: Access
) -> Iterator[str | SafeString]:
    if proposal.actor == access.actor:
        yield "You proposed this yourself: a second person has to approve it."
    yield from missing(access, _permission(dossier, proposal))
    if rulings.read(proposal.verdict)[0] is State.FAILED:
        yield from not_fenced(dossier)


def _permission(dossier: Dossier, proposal: CaseAction) -> str:
    return rulings.permission_for(dossier.fulfilment, verdict=proposal.verdict)


def _word(proposal: CaseAction) -> str:
    return words.verdict(proposal.verdict)


def _note(proposal: CaseAction, dossier: Dossier) -> str:
    return f" Their note: “{words.hide(proposal.note, dossier.number)}”" if proposal.note else ""
