"""What a person's verdict is in each state, who may give it, and what it does under the lock."""

from dataclasses import dataclass

from fulfilment import transitions
from fulfilment.errors import NoCase, VerdictRefused
from fulfilment.models import Case, CaseAction, CaseReason, Evidence, Fulfilment
from fulfilment.reconcile import (
    books,
    casebook,
    corrections,
    generations,
    people,
    proposals,
    reading,
)
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.record import write
from fulfilment.reconcile.verdicts import AGAIN
from fulfilment.states import State

_VERDICTS = "A person's verdict is “fulfilled”, “failed” or “send_again”."

# Leaving a verdict as it is needs what giving it would have needed.
_UPHOLD = {
    State.FULFILLED: people.RESOLVE[State.FULFILLED],
    State.REVERSED: people.RESOLVE[State.FULFILLED],
    State.FAILED: people.RESOLVE[State.FAILED],
    State.CANCELLED: people.RESOLVE[State.FAILED],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A verdict by hand: which, by whom, on what evidence, with which words."""

    to: State
    again: bool  # not done, and sent again under a new reference instead of told
    actor: str
    evidence_reference: str
    note: str
    version: int  # the fulfilment's, as the person saw it
    reason: str  # for the journal

    @property
    def verdict(self) -> str:
        """The word for it, on the case and in the form."""
        return AGAIN if self.again else self.to.value


def read(verdict: str) -> tuple[State, bool]:
    """The state that a verdict leads to, and whether it is sent again. Raises `VerdictRefused`."""
    if verdict == AGAIN:
        return State.FAILED, True
    try:
        return State(verdict), False
    except ValueError:
        raise VerdictRefused(_VERDICTS) from None


def ruling(*, verdict: str, actor: str, evidence_reference: str, note: str, version: int) -> Ruling:
    """The verdict as it was typed. Raises `VerdictRefused` where no evidence is named."""
    reference = evidence_reference.strip()
    if not reference:
        raise VerdictRefused("Name the evidence: a statement line, a ticket of the provider.")
    to, again = read(verdict)
    return Ruling(
        to=to,
        again=again,
        actor=actor,
        evidence_reference=reference,
        note=note,
        version=version,
        reason=f"decided on {reference}",
    )


def approval(proposed: CaseAction, *, actor: str, version: int) -> Ruling:
    """The proposed verdict, given by `actor`. Raises `VerdictRefused` for one's own proposal."""
    if proposed.actor == actor:
        raise VerdictRefused("You proposed this yourself: a second person has to approve it.")
    to, again = read(proposed.verdict)
    return Ruling(
        to=to,
        again=again,
        actor=actor,
        evidence_reference=proposed.evidence_reference,
        note=proposed.note,
        version=version,
        reason=f"decided on {proposed.evidence_reference}, proposed by {proposed.actor}",
    )


def permission_for(row: Fulfilment, *, verdict: str) -> str:
    """What giving this verdict on this row needs. Raises `VerdictRefused` for what is none."""
    to, again = read(verdict)
    if again:
        return people.AGAIN
    if is_correction(row, to=to):
        return people.CORRECT
    if not State(row.state).is_open:
        return _UPHOLD.get(to, people.RESOLVE[State.FAILED])
    if to not in people.RESOLVE:
        raise VerdictRefused(_VERDICTS)
    return people.RESOLVE[to]


def is_correction(row: Fulfilment, *, to: State) -> bool:
    """Does the verdict say that what was given up did happen?"""
    return row.state == State.FAILED and to is State.FULFILLED


def upholds(row: Fulfilment, *, to: State) -> bool:
    """Does the verdict say that the one that stands is right?"""
    return not State(row.state).is_open and row.state == to


def stands_already(row: Fulfilment, *, verdict: str, version: int) -> bool:
    """Is this the verdict that was given on what the person saw, or the one they see?

    Giving it again is nobody's decision: it succeeds and writes nothing. Of a case that is open,
    giving it is one: it leaves the verdict as it is and closes the case.
    """
    to, again = read(verdict)
    if State(row.state).is_open or row.state != to:
        return False
    if row.version == version + 1:  # sent again is another verdict than told
        return again == (generations.newest_after(row) is not None)
    return not again and row.version == version and casebook.current(row) is None


def refuse_stale(row: Fulfilment, ruling: Ruling) -> None:
    """Nobody moved it since the person saw it, and there is such a verdict to give.

    Raises `Stale`, `VerdictRefused`, and `NoCase` for a decided row without an open case.
    """
    if row.version != ruling.version:
        raise transitions.stale(row.pk)
    if row.state == State.NEEDS_RECONCILIATION:
        return
    if ruling.again:
        raise VerdictRefused("Only what nobody knows yet is sent again: of this its app was told.")
    if not upholds(row, to=ruling.to) and not is_correction(row, to=ruling.to):
        state = row.state.replace("_", " ")
        raise VerdictRefused(f"It is “{state}”: there is no verdict to give by hand.")
    if casebook.current(row) is None:
        raise NoCase


def give(row: Fulfilment, ruling: Ruling) -> Fulfilment:
    """Carry the verdict out, under the row's lock: the person's word, the case, the books."""
    proposals.refuse_another(row, actor=ruling.actor)
    return _give(row, ruling, action=_action(row, ruling))


def propose(row: Fulfilment, ruling: Ruling) -> Fulfilment:
    """Put the verdict before a second person, under the row's lock; nothing moves."""
    proposals.refuse_another(row, actor=ruling.actor)
    _refuse_impossible(row, ruling)
    case = casebook.open_case(row, reason=CaseReason.OPENED_BY_AGENT, actor=ruling.actor)
    _write(case, CaseAction.Action.PROPOSED, ruling)
    return row


def approve(row: Fulfilment, ruling: Ruling, *, proposal: int) -> Fulfilment:
    """Carry the proposed verdict out, under the row's lock, if it stands at this very moment."""
    standing = proposals.standing(row)
    if standing is None or standing.pk != proposal or proposals.voided_by(row, standing):
        raise VerdictRefused("This proposal is not open any more.")
    return _give(row, ruling, action=CaseAction.Action.APPROVED)


def uphold(row: Fulfilment, ruling: Ruling) -> Fulfilment:
    """Close the case and leave the verdict as it is. Under the row's lock; nothing moves."""
    case = casebook.current(row)
    if case is None:
        raise NoCase
    _write(case, CaseAction.Action.UPHELD, ruling)
    casebook.close_case(row, actor=ruling.actor, note="the verdict stands")
    return row


def _action(row: Fulfilment, ruling: Ruling) -> CaseAction.Action:
    if not is_correction(row, to=ruling.to):
        return CaseAction.Action.RESOLVED
    twin = corrections.twin_of(row)
    return CaseAction.Action.PAID_TWICE if twin else CaseAction.Action.CORRECTED


def _give(row: Fulfilment, ruling: Ruling, *, action: CaseAction.Action) -> Fulfilment:
    _refuse_impossible(row, ruling)
    evidence = _word(row, ruling)
    case = casebook.open_case(row, reason=CaseReason.OPENED_BY_AGENT, actor=ruling.actor)
    _write(case, action, ruling)
    reason, actor = ruling.reason, ruling.actor
    if is_correction(row, to=ruling.to):
        return corrections.correct(row, evidence=evidence, actor=actor, reason=reason)
    return books.settle(
        row, to=ruling.to, reason=reason, evidence=evidence, actor=actor, again=ruling.again
    )


def _refuse_impossible(row: Fulfilment, ruling: Ruling) -> None:
    """“Not done” is for what can no longer be done, a correction for who takes it."""
    if is_correction(row, to=ruling.to):
        corrections.refuse_impossible(row)
    situation = reading.situation_of(row)
    if ruling.to is State.FAILED and not situation.fenced:
        until = situation.fenced_at
        when = f" until {until:%H:%M:%S} UTC" if until else ""
        raise VerdictRefused(f"An attempt may still be under way{when}, and could still pay.")


def _word(row: Fulfilment, ruling: Ruling) -> Evidence:
    finding = Finding.DONE if ruling.to is State.FULFILLED else Finding.NOT_DONE
    said = Statement(finding=finding, detail=ruling.evidence_reference)
    return write(row, said, source=Source.PERSON, actor=ruling.actor)


def _write(case: Case, action: CaseAction.Action, ruling: Ruling) -> None:
    casebook.write(
        case,
        action,
        actor=ruling.actor,
        verdict=ruling.verdict,
        evidence_reference=ruling.evidence_reference[:255],
        note=ruling.note,
    )
