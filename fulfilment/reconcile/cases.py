"""What a person does with a case. Permission, state and version are checked here, every time.

The verdicts by hand are in `decisions`; they are called as `cases.resolve(…)` like all the rest.
"""

from typing import Any

from django.db import transaction
from django.db.models import F

from fulfilment import store
from fulfilment.errors import NoCase
from fulfilment.models import Case, CaseAction, CaseReason
from fulfilment.reconcile import casebook, people
from fulfilment.reconcile.decisions import Subject, approve, resolve, row_of, withdraw
from fulfilment.reconcile.people import may
from fulfilment.reconcile.reading import fenced_from
from fulfilment.states import State

__all__ = [
    "Subject",
    "approve",
    "fenced_from",
    "may",
    "note",
    "open",
    "release",
    "resolve",
    "take",
    "withdraw",
]


def open(  # noqa: A001  # read as `cases.open(…)`
    subject: Subject, *, actor: Any, reason: str = CaseReason.OPENED_BY_AGENT, note: str = ""
) -> Case:
    """Open a case, or find the open one. Raises `NotAllowed`."""
    name = people.require_any(actor)
    with transaction.atomic():
        row = store.lock(row_of(subject).pk)
        return casebook.open_case(row, reason=CaseReason(reason), actor=name, note=note)


def take(subject: Subject, *, actor: Any) -> Case:
    """Make the person the owner; again, nothing is restamped. Raises `NotAllowed`, `NoCase`."""
    name = people.require_any(actor)
    with transaction.atomic():
        case = _case(subject, actor=name)
        if case.owner_id == actor.pk:
            return case
        return _own(case, owner=actor, action=CaseAction.Action.TAKEN, actor=name)


def release(subject: Subject, *, actor: Any) -> Case:
    """Leave one's own case to nobody. Raises `NotAllowed`, `NoCase`."""
    name = people.require_any(actor)
    with transaction.atomic():
        case = _case(subject, actor=name)
        if case.owner_id != actor.pk:
            return case
        return _own(case, owner=None, action=CaseAction.Action.RELEASED, actor=name)


def note(subject: Subject, *, actor: Any, note: str) -> CaseAction:
    """Leave a note on the case. Raises `NotAllowed`, `NoCase`."""
    name = people.require_any(actor)
    with transaction.atomic():
        case = _case(subject, actor=name)
        return casebook.write(case, CaseAction.Action.NOTED, actor=name, note=note)


def _case(subject: Subject, *, actor: str) -> Case:
    """The open case, under the row's lock; opened now on a row that still waits for its verdict."""
    row = store.lock(row_of(subject).pk)
    case = casebook.current(row)
    if case is not None:
        return case
    if not State(row.state).is_open:
        raise NoCase
    return casebook.open_case(row, reason=CaseReason.OPENED_BY_AGENT, actor=actor)


def _own(case: Case, *, owner: Any, action: CaseAction.Action, actor: str) -> Case:
    casebook.write(case, action, actor=actor)
    Case.objects.filter(pk=case.pk).update(owner=owner, version=F("version") + 1)
    return Case.objects.get(pk=case.pk)
