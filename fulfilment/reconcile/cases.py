"""What a person does with a case. Permission, state and version are checked here, every time."""

from datetime import datetime
from typing import Any, TypeAlias

from django.db import transaction
from django.db.models import F

from fulfilment import store, transitions
from fulfilment.conf import conf
from fulfilment.errors import HandlerFailed, VerdictRefused
from fulfilment.models import Attempt, Case, CaseAction, CaseReason, Evidence, Fulfilment
from fulfilment.reconcile import books, casebook, lookups, people, reading
from fulfilment.reconcile import resolve as resolver
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.people import may
from fulfilment.reconcile.record import write
from fulfilment.states import State

__all__ = ["fenced_from", "may", "note", "open", "release", "resolve", "take"]

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
    """Give the verdict `fulfilled` or `failed`, as a person, on evidence that is named.

    `version` is the fulfilment's as the person saw it. The provider is asked once more first,
    and where its answer settles the matter, that is what counts. Raises `NotAllowed`, `Stale`
    (somebody decided meanwhile: also the second click) and `VerdictRefused`; `HandlerFailed`
    where the books could not take it, which stays on the case.
    """
    to = _verdict(verdict)
    name = people.require(actor, people.RESOLVE[to])
    if not evidence_reference.strip():
        raise VerdictRefused("Name the evidence: a statement line, a ticket of the provider.")
    row = _row(subject)
    _still(row, version=version)
    said = lookups.query(row, actor=name)
    if said is not None and (settled := _respect(row, said, to=to)):
        return settled
    try:
        with transaction.atomic():
            return _decide(
                row.pk,
                to=to,
                actor=name,
                evidence_reference=evidence_reference.strip(),
                note=note,
                version=version,
            )
    except HandlerFailed as error:
        with transaction.atomic():
            row = resolver.set_aside(store.lock(row.pk), actor=name, why=error)
            _note(row, actor=name, note=f"tried “{verdict}” on {evidence_reference}: {error}")
        raise


def open(  # noqa: A001  # read as `cases.open(…)`
    subject: Subject, *, actor: Any, reason: str = CaseReason.OPENED_BY_AGENT, note: str = ""
) -> Case:
    """Open a case, or find the open one. Raises `NotAllowed`."""
    name = people.require_any(actor)
    with transaction.atomic():
        row = store.lock(_row(subject).pk)
        return casebook.open_case(row, reason=CaseReason(reason), actor=name, note=note)


def take(subject: Subject, *, actor: Any) -> Case:
    """Make the person the owner; checks and events go on meanwhile. Raises `NotAllowed`."""
    return _own(subject, actor=actor, owner=actor, note="took the case")


def release(subject: Subject, *, actor: Any) -> Case:
    """Leave the case to nobody. Raises `NotAllowed`."""
    return _own(subject, actor=actor, owner=None, note="gave the case back")


def note(subject: Subject, *, actor: Any, note: str) -> CaseAction:
    """Leave a note on the case, opening one if there is none. Raises `NotAllowed`."""
    name = people.require_any(actor)
    with transaction.atomic():
        return _note(store.lock(_row(subject).pk), actor=name, note=note)


def fenced_from(attempt: Attempt) -> datetime | None:
    """From when on nothing of this attempt can begin any more; None while it is open."""
    facts = reading.facts_of(attempt.fulfilment)
    return reading.try_of(attempt, facts).fenced_at(call=conf().total_deadline + conf().margin)


def _verdict(verdict: str) -> State:
    if verdict not in people.RESOLVE:
        raise VerdictRefused("A person's verdict is “fulfilled” or “failed”.")
    return State(verdict)


def _row(subject: Subject) -> Fulfilment:
    match subject:
        case Case():
            return Fulfilment.objects.get(pk=subject.fulfilment_id)
        case Fulfilment():
            return Fulfilment.objects.get(pk=subject.pk)
        case int():
            return Fulfilment.objects.get(pk=subject)


def _still(row: Fulfilment, *, version: int) -> None:
    """Nobody moved it since the person saw it, and it waits for a verdict."""
    if row.version != version:
        raise transitions.stale(row.pk)
    if row.state != State.NEEDS_RECONCILIATION:
        state = row.state.replace("_", " ")
        raise VerdictRefused(f"It is “{state}”: there is no verdict to give by hand.")


def _respect(row: Fulfilment, said: Evidence, *, to: State) -> Fulfilment | None:
    """What the provider just said counts. Returns the row where that settled it as wanted."""
    if said.finding == Finding.ACCEPTED and to is State.FAILED:
        raise VerdictRefused("The provider says that it is still working on it.")
    if not said.conclusive:
        return None
    now = resolver.resolve(row.pk, news=[said.pk])
    if now.state == to:
        return now
    if (said.finding == Finding.DONE) != (to is State.FULFILLED):
        raise VerdictRefused(
            f"The provider was asked just now and says: {said.get_finding_display()}."
        )
    return None


def _decide(
    pk: int, *, to: State, actor: str, evidence_reference: str, note: str, version: int
) -> Fulfilment:
    row = store.lock(pk)
    _still(row, version=version)  # again, under the lock: ten clicks are one verdict
    if to is State.FAILED:
        _require_fenced(row)
    finding = Finding.DONE if to is State.FULFILLED else Finding.NOT_DONE
    said = Statement(finding=finding, detail=evidence_reference)
    evidence = write(row, said, source=Source.PERSON, actor=actor)
    case = casebook.open_case(row, reason=CaseReason.OPENED_BY_AGENT, actor=actor)
    casebook.write(
        case,
        CaseAction.Action.RESOLVED,
        actor=actor,
        verdict=to,
        evidence_reference=evidence_reference[:255],
        note=note,
    )
    reason = f"decided on {evidence_reference}"
    return books.settle(row, to=to, reason=reason, evidence=evidence, actor=actor)


def _require_fenced(row: Fulfilment) -> None:
    situation = reading.situation_of(row)
    if not situation.fenced:
        until = situation.fenced_at
        when = f" until {until:%H:%M:%S} UTC" if until else ""
        raise VerdictRefused(f"An attempt may still be under way{when}, and could still pay.")


def _own(subject: Subject, *, actor: Any, owner: Any, note: str) -> Case:
    name = people.require_any(actor)
    with transaction.atomic():
        case = _note(store.lock(_row(subject).pk), actor=name, note=note).case
        Case.objects.filter(pk=case.pk).update(owner=owner, version=F("version") + 1)
    return Case.objects.get(pk=case.pk)


def _note(row: Fulfilment, *, actor: str, note: str) -> CaseAction:
    case = casebook.open_case(row, reason=CaseReason.OPENED_BY_AGENT, actor=actor)
    return casebook.write(case, CaseAction.Action.NOTED, actor=actor, note=note)
