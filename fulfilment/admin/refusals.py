"""When a step was not done: who was faster, what it is now, and what you typed, kept for you."""

from typing import Any

from django import forms
from django.db import OperationalError
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.dossier import Dossier
from fulfilment.errors import NotAllowed, Stale
from fulfilment.reconcile.verdicts import AGAIN
from fulfilment.states import State
from idempotency.times import when


def status_of(error: Exception) -> int:
    """Not allowed is 403, a lock that was not free 503, all else a conflict with how it stands."""
    if isinstance(error, OperationalError):
        return 503
    return 403 if isinstance(error, NotAllowed) else 409


def is_echo(dossier: Dossier, error: Exception, *, actor: str, given: dict[str, Any]) -> bool:
    """Is this the second click on a button whose first click was done?"""
    move = dossier.decision
    return (
        isinstance(error, Stale)
        and move is not None
        and (move.actor, move.after) == (actor, _state_of(given, move.after))
        and move.version == given.get("version", -1) + 1
    )


def _state_of(given: dict[str, Any], after: str) -> str:
    verdict: str = given.get("verdict", after)
    return State.FAILED if verdict == AGAIN else verdict


def echo(dossier: Dossier, *, actor: str) -> SafeString:
    """Said to whoever clicked twice, or as somebody else did before."""
    move = dossier.decision
    other = None if move is None or move.actor == actor else words.who(move.actor)
    lost = " What you typed was not saved." if other else ""
    moment = when(move.moved_at if move else None, now=dossier.now)
    return format_html(
        "{} marked this as {} already, at {}. It was done once; this click changed nothing.{}",
        other or "You",
        words.badge(dossier.state).text.lower(),
        moment,
        lost,
    )


def sentence(dossier: Dossier, error: Exception) -> SafeString:
    """Why it was not done. Of a stale form: who changed it, when, and what it is now."""
    if isinstance(error, OperationalError):
        text = "Somebody else is changing this very payment. Wait a moment and try again."
        return format_html("Not done. {}", text)
    move = dossier.transitions[-1] if dossier.transitions else None
    if isinstance(error, Stale) and move is not None:
        return format_html(
            "Not done: {} made it “{}” at {}. This page shows it as it is now.",
            words.who(move.actor),
            words.badge(move.after).text,
            when(move.moved_at, now=dossier.now),
        )
    return format_html("Not done. {}", words.hide(str(error), dossier.number))


def incomplete(step: str, form: forms.Form) -> SafeString:
    """Something is missing; the way to it."""
    place = "note" if step == "note" else f"form-{form.data.get('verdict', step)}"
    return format_html(
        'Not done: something is missing or does not fit. <a href="#{}">See the form</a>; what you typed is in it.',
        place,
    )


def unsaved(given: dict[str, Any]) -> list[tuple[str, str]]:
    """What the person typed, to copy from: it was not saved."""
    named = (("Evidence", "evidence_reference"), ("Note", "note"))
    return [(label, given[name]) for label, name in named if given.get(name)]
