"""The verdicts that people give: on named evidence, once, never against the provider's fresh word."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from django.db import transaction

from fulfilment import store, transitions
from fulfilment.errors import HandlerFailed, NotAskedNow, VerdictRefused
from fulfilment.models import Case, CaseAction, CaseReason, Evidence, Fulfilment
from fulfilment.reconcile import casebook, lookups, people, proposals, rulings
from fulfilment.reconcile import resolve as resolver
from fulfilment.reconcile.evidence import HAPPENED, Finding
from fulfilment.reconcile.rulings import Ruling
from fulfilment.states import State

Subject: TypeAlias = Case | Fulfilment | int


def resolve(
    subject: Subject,
    *,
    actor: Any,
    verdict: str,
    evidence_reference: str,
    note: str = "",
    version: int,
) -> Fulfilment:
    """Give a verdict as a person, on evidence that is named.

    What is unknown becomes `fulfilled` or `failed`; `send_again` says that it was not done and opens
    the payment's next reference, of which alone the project is told. Where a case is open, `failed` is corrected to
    `fulfilled`, and the verdict that stands, given again, closes the case. Above the limit of its
    currency a verdict that moves money is only proposed: the row comes back as it was, and a
    second person has to `approve`. `version` is the fulfilment's as the person saw it.

    The provider is asked once more first, and where its answer settles the matter, that is what
    counts. The verdict that was given on this version already, given again by whoever, returns the
    row as it is: no entry, no new version, no other time. Raises `NotAllowed`, `Stale` (somebody
    decided otherwise meanwhile), `NoCase`, `VerdictRefused`; `HandlerFailed` where the books could
    not take it, which stays on the case.
    """
    row, (to, _) = row_of(subject), rulings.read(verdict)
    if rulings.stands_already(row, verdict=verdict, version=version):
        people.require_any(actor)
        return row
    _refuse_other_version(row, actor=actor, version=version)
    name = people.require(actor, rulings.permission_for(row, verdict=verdict))
    ruling = rulings.ruling(
        verdict=verdict,
        actor=name,
        evidence_reference=evidence_reference,
        note=note,
        version=version,
    )
    rulings.refuse_stale(row, ruling)
    if rulings.upholds(row, to=to):
        return _carry_out(row, ruling, do=rulings.uphold, again=True)
    _refuse_a_second_proposal(row, actor=name)
    if settled := _ask_first(row, ruling):
        return settled
    needs_two = proposals.second_person_needed(row)
    return _carry_out(row, ruling, do=rulings.propose if needs_two else rulings.give, again=True)


def approve(subject: Subject, *, actor: Any, proposal: int, version: int) -> Fulfilment:
    """Give the verdict that somebody else proposed. The provider is asked once more first.

    Raises as `resolve`; `VerdictRefused` also for one's own proposal and for one that is
    withdrawn, or voided by what was learnt meanwhile.
    """
    people.require_any(actor)  # which permission it takes, only the proposal tells
    row = row_of(subject)
    _refuse_other_version(row, actor=actor, version=version)
    proposed = _standing(row, proposal)
    name = people.require(actor, rulings.permission_for(row, verdict=proposed.verdict))
    ruling = rulings.approval(proposed, actor=name, version=version)
    rulings.refuse_stale(row, ruling)
    if settled := _ask_first(row, ruling):
        return settled
    _standing(row, proposal)  # what the provider just said may have voided it
    return _carry_out(row, ruling, do=partial(rulings.approve, proposal=proposal))


def withdraw(subject: Subject, *, actor: Any, proposal: int) -> CaseAction:
    """Take one's own proposal back, or turn somebody else's down.

    Raises `NotAllowed`, and `VerdictRefused` where it is not open any more.
    """
    name = people.require_any(actor)
    row = row_of(subject)
    proposed = _standing(row, proposal)
    if proposed.actor != name:
        people.require(actor, rulings.permission_for(row, verdict=proposed.verdict))
    with transaction.atomic():
        standing = proposals.standing(store.lock(row.pk))
        if standing is None or standing.pk != proposal:
            raise VerdictRefused(_NOT_OPEN)
        return casebook.write(
            standing.case, CaseAction.Action.WITHDRAWN, actor=name, verdict=standing.verdict
        )


def row_of(subject: Subject) -> Fulfilment:
    """The row that a case is about, or that an id names, as it is now."""
    match subject:
        case Case():
            return Fulfilment.objects.get(pk=subject.fulfilment_id)
        case Fulfilment():
            return Fulfilment.objects.get(pk=subject.pk)
        case int():
            return Fulfilment.objects.get(pk=subject)


def _refuse_other_version(row: Fulfilment, *, actor: Any, version: int) -> None:
    """First of all: which permission a verdict needs depends on the state that the person saw."""
    if row.version != version:
        people.require_any(actor)
        raise transitions.stale(row.pk)


_NOT_OPEN = "This proposal is not open any more: it was approved, withdrawn or voided."


def _standing(row: Fulfilment, proposal: int) -> CaseAction:
    """The proposal, if it still stands; that it does not is committed before it is said."""
    with transaction.atomic():
        standing = proposals.refresh(store.lock(row.pk))
    if standing is None or standing.pk != proposal:
        raise VerdictRefused(_NOT_OPEN)
    return standing


def _refuse_a_second_proposal(row: Fulfilment, *, actor: str) -> None:
    with transaction.atomic():
        proposals.refresh(store.lock(row.pk))
    proposals.refuse_another(row, actor=actor)


def _ask_first(row: Fulfilment, ruling: Ruling) -> Fulfilment | None:
    """What the provider says now counts. Returns the row where that settled it as wanted."""
    said = _said_now(row, actor=ruling.actor)
    if said is None:
        return None
    if said.finding == Finding.ACCEPTED and ruling.to is State.FAILED:
        raise VerdictRefused("The provider says that it is still working on it.")
    if not said.conclusive or (ruling.again and said.finding == Finding.NOT_DONE):
        return (
            None  # the rules would tell the project of a failure, and the person wants another try
        )
    now = resolver.resolve(row.pk, news=[said.pk])
    if now.state == ruling.to:
        _keep(now, ruling)
        return now
    _refuse_contradiction(said, ruling)
    return None


def _said_now(row: Fulfilment, *, actor: str) -> Evidence | None:
    """None where it cannot be asked, also because nobody calls it now: a person may still decide."""
    try:
        return lookups.query(row, actor=actor)
    except NotAskedNow as why:
        if why.until is None:
            raise
        return None


def _refuse_contradiction(said: Evidence, ruling: Ruling) -> None:
    if (said.finding in HAPPENED) != (ruling.to is State.FULFILLED):
        raise VerdictRefused(
            f"The provider was asked just now and says: {said.get_finding_display()}."
        )


def _keep(row: Fulfilment, ruling: Ruling) -> None:
    """The provider settled it as the person wanted: their evidence and note stay on the case."""
    with transaction.atomic():
        casebook.file(
            store.lock(row.pk),
            CaseAction.Action.CONFIRMED,
            actor=ruling.actor,
            verdict=ruling.verdict,
            evidence_reference=ruling.evidence_reference[:255],
            note=ruling.note,
        )


def _carry_out(
    row: Fulfilment,
    ruling: Ruling,
    *,
    do: Callable[[Fulfilment, Ruling], Fulfilment],
    again: bool = False,
) -> Fulfilment:
    """Under the row's lock. With `again`, of ten clicks at once nine find that it stands already."""
    try:
        with transaction.atomic():
            locked = store.lock(row.pk)
            if again and rulings.stands_already(
                locked, verdict=ruling.verdict, version=ruling.version
            ):
                return locked
            rulings.refuse_stale(locked, ruling)
            return do(locked, ruling)
    except HandlerFailed as error:
        tried = f"tried “{ruling.verdict}” on {ruling.evidence_reference}: {error}"
        with transaction.atomic():
            row = resolver.set_aside(store.lock(row.pk), actor=ruling.actor, why=error)
            case = casebook.open_case(row, reason=CaseReason.HANDLER_FAILED, actor=ruling.actor)
            casebook.write(case, CaseAction.Action.NOTED, actor=ruling.actor, note=tried)
        raise
