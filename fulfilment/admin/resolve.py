"""What the buttons do: each calls its service, which checks the permission and the state again."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.db import transaction

from fulfilment import store, transitions
from fulfilment.admin import dossier, refusals, words
from fulfilment.admin.forms import CancelForm, NoteForm, ProposalForm, ResolveForm
from fulfilment.models import Case, CaseAction, Fulfilment
from fulfilment.reconcile import cancellations, cases, generations, lookups, people, proposals
from fulfilment.reconcile.verdicts import AGAIN
from fulfilment.states import State

# The same words again from the same person within this time are a second click.
SECOND_CLICK = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Step:
    """One POST: the form that it needs, what runs, and the sentence that answers."""

    name: str
    form: type[forms.Form]
    run: Callable[..., str]


def _resolve(fulfilment: Fulfilment, *, actor: Any, **given: Any) -> str:
    row, mine = cases.resolve(fulfilment.pk, actor=actor, **given), people.name_of(actor)
    if row.version != given["version"]:  # it moved: by this click, or by one that was faster
        record, before = dossier.load(row), row.version == fulfilment.version
        if before or (record.decision is not None and record.decision.actor != mine):
            return refusals.echo(record, actor=mine)
    return _said(fulfilment, row, verdict=given["verdict"])


def _approve(fulfilment: Fulfilment, *, actor: Any, proposal: int, version: int) -> str:
    verdict = CaseAction.objects.filter(pk=proposal, case__fulfilment=fulfilment).first()
    row = cases.approve(fulfilment.pk, actor=actor, proposal=proposal, version=version)
    return _said(fulfilment, row, verdict=verdict.verdict if verdict else row.state)


def _withdraw(fulfilment: Fulfilment, *, actor: Any, proposal: int, version: int) -> str:
    cases.withdraw(fulfilment.pk, actor=actor, proposal=proposal)
    return "The proposal is off the table. Nothing moved, and the case stays open."


def _said(before: Fulfilment, after: Fulfilment, *, verdict: str) -> str:
    """What came of a verdict, for the person who gave it."""
    word = words.verdict(verdict)
    newer = generations.newest_after(after)
    if verdict == AGAIN and newer is not None:
        return (
            f"Done: it was not paid out, and is sent again under the reference {newer.reference}."
        )
    if after.state == verdict and before.state == verdict:
        return f"Done: it stays {word}, and the case is closed."
    if after.state == verdict and before.state == State.FAILED:
        return f"Done: it is corrected to {word}, and the app is told. The case says what moved."
    if after.state == verdict:
        return f"Done: it is marked as {word}, and the app is told."
    if proposals.standing(after) is not None:
        return f"Proposed: {word}. Nothing moved yet: a second person has to approve it."
    return "Recorded as paid twice. The new case says what our books did and what is left to do."


def _cancel(fulfilment: Fulfilment, *, actor: Any, note: str, version: int) -> str:
    cancellations.cancel_by_hand(fulfilment, actor=actor, note=note, version=version)
    return "It is cancelled: nothing was sent, and the app is told."


def _ask(fulfilment: Fulfilment, *, actor: Any) -> str:
    evidence = lookups.ask(fulfilment.pk, actor=actor)
    return f"Asked just now: {words.provider(fulfilment.connector)} {words.says(evidence.finding)}."


def _open(fulfilment: Fulfilment, *, actor: Any) -> str:
    cases.open(fulfilment.pk, actor=actor)
    return "A case is open."


def _take(fulfilment: Fulfilment, *, actor: Any) -> str:
    with transaction.atomic():
        _open_case(fulfilment, actor=actor)
        cases.take(fulfilment.pk, actor=actor)
    return "You own this case now."


def _release(fulfilment: Fulfilment, *, actor: Any) -> str:
    with transaction.atomic():
        _open_case(fulfilment, actor=actor)
        case = cases.release(fulfilment.pk, actor=actor)
    if case.owner_id is not None:
        return "You do not own this case, so there was nothing to release."
    return "Nobody owns this case now."


def _note(fulfilment: Fulfilment, *, actor: Any, note: str) -> str:
    with transaction.atomic():
        same = CaseAction.objects.filter(
            case=_open_case(fulfilment, actor=actor),
            action=CaseAction.Action.NOTED,
            actor=people.name_of(actor),
            note=note,
            acted_at__gt=store.now() - SECOND_CLICK,
        )
        if same.exists():
            return "This note is saved already; it is there once."
        cases.note(fulfilment.pk, actor=actor, note=note)
    return "Your note is saved."


def _open_case(fulfilment: Fulfilment, *, actor: Any) -> Case:
    """Under the row's lock. The service would open a new case; the button spoke of this one."""
    people.require_any(actor)  # "there was nothing to do" is not for whoever may not do it
    row = store.lock(fulfilment.pk)
    case = row.cases.filter(closed_at__isnull=True).first()
    if case is None:
        raise transitions.stale(row.pk)
    return case


STEPS = {
    step.name: step
    for step in (
        Step("resolve", ResolveForm, _resolve),
        Step("approve", ProposalForm, _approve),
        Step("withdraw", ProposalForm, _withdraw),
        Step("cancel", CancelForm, _cancel),
        Step("ask", forms.Form, _ask),
        Step("open", forms.Form, _open),
        Step("take", forms.Form, _take),
        Step("release", forms.Form, _release),
        Step("note", NoteForm, _note),
    )
}
