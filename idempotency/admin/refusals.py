"""When a step was not done: who was faster, what it is now, and what was typed, kept for copying."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.db import OperationalError
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from idempotency import people, trail
from idempotency.admin import journal
from idempotency.admin.states import STATES
from idempotency.admin.steps import Step
from idempotency.errors import HoldOver, NotPermitted
from idempotency.models import AuditEntry, KeyListing
from idempotency.times import when

_SECOND_CLICK = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing was done."""

    sentence: SafeString
    status: int
    is_echo: bool = False  # the person's own first click did it


def explain(
    row: KeyListing, error: Exception, *, step: Step, user: Any, form: forms.Form
) -> Refused:
    """Not allowed is 403, a lock that was not free 503, all else a conflict with how it stands."""
    if isinstance(error, OperationalError):
        busy = "Somebody else is changing this very key. Wait a moment and try again."
        return Refused(format_html("Not done. {}", busy), 503)
    if not isinstance(error, HoldOver):
        status = 403 if isinstance(error, NotPermitted) else 409
        return Refused(format_html("Not done. {}", str(error)), status)
    newest = next(iter(journal.entries(trail.key_subject(row.user_id, row.key))), None)
    if newest is not None and _is_own(newest, step, user):
        moment = when(newest.at, now=timezone.now())
        said = "You did this already, at {}. It was done once; this click changed nothing."
        return Refused(format_html(said, moment), 200, is_echo=True)
    return Refused(_since(row, newest, held_at=form.cleaned_data["held_at"]), 409)


def _is_own(entry: AuditEntry, step: Step, user: Any) -> bool:
    mine = entry.actor == people.named(user) and entry.action == step.done
    return mine and timezone.now() - entry.at < _SECOND_CLICK


def _since(row: KeyListing, newest: AuditEntry | None, *, held_at: Any) -> SafeString:
    """What happened since the page was made: by whom, when, and how it stands now."""
    now, state = timezone.now(), STATES[row.state].word
    if newest is not None and newest.at > held_at and newest.action != "body_opened":
        return format_html(
            "Not done: {} {} at {}. It is “{}” now; this page shows it.",
            journal.who(newest),
            journal.what(newest),
            when(newest.at, now=now),
            state,
        )
    moment = row.completed_at or row.cleared_at or row.held_at
    return format_html(
        "Not done: the automatic checks or a retry changed it at {}. "
        "It is “{}” now; this page shows it.",
        when(moment, now=now, missing="a moment that is not on record"),
        state,
    )


def incomplete(name: str) -> SafeString:
    """Something is missing; the way to it."""
    return format_html(
        'Not done: something is missing or does not fit. <a href="#form-{}">See the form</a>; what you typed is in it.',
        name,
    )


def unsaved(form: forms.Form) -> list[tuple[str, str]]:
    """What the person typed, to copy from: it was not saved."""
    typed = (("Status", "status"), ("Body", "body"), ("Why", "reason"))
    return [
        (label, form.cleaned_data[name]) for label, name in typed if form.cleaned_data.get(name)
    ]
