"""The page of one key: what is known, what happens by itself, what may be done, what was done."""

from datetime import datetime
from typing import Any

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.safestring import SafeString

from idempotency import trail
from idempotency.admin import columns, journal, people, story
from idempotency.admin.forms import OpenForm, PlainForm
from idempotency.admin.states import STATES
from idempotency.admin.steps import STEPS, TITLES
from idempotency.admin.stored import VIEW_BODY
from idempotency.key import reference_of
from idempotency.models import KeyListing
from idempotency.redaction import mask_text
from idempotency.times import clock, when


def context(
    row: KeyListing, *, user: Any, now: datetime, forms: dict[str, PlainForm]
) -> dict[str, Any]:
    """Everything that the template names. `forms` are posted ones that have to be completed."""
    told = story.tell(row, now=now)
    return {
        "title": columns.short(row.operation),
        "row": row,
        "state": STATES[row.state],
        "happened": told.happened,
        "otherwise": told.otherwise,
        "facts": _facts(row, now=now),
        "steps": _steps(row, user, forms) if row.state == "held" else [],
        "stored": _stored(row, user, forms) if row.response_code else None,
        "lines": journal.lines(journal.entries(trail.key_subject(row.user_id, row.key)), now=now),
        "loaded": clock(now, now=now),
    }


def address_of(row: KeyListing, name: str) -> str:
    """Where a page or a button of the key lives."""
    return reverse(f"admin:idempotency_keylisting_{name}", args=[quote(row.pk)])


def _facts(row: KeyListing, *, now: datetime) -> list[tuple[str, str | SafeString]]:
    times = (
        ("First used", row.created_at),
        ("May have been sent", row.sent_at),
        ("Held since", row.held_at),
        ("Next automatic check", row.next_check_at),
        ("Found not to have happened", row.cleared_at),
        ("Owned by its request until", row.locked_until),
        ("Answered", row.completed_at),
    )
    return [
        ("Operation", row.operation),
        ("Reference at the other system", reference_of(row.user_id, row.key)),
        ("User", people.named(row.user_id)),
        ("Key", row.key),
        *((label, when(time, now=now)) for label, time in times if time is not None),
        *([("Reason of the hold", mask_text(row.hold_reason))] if row.hold_reason else []),
        *([("Status of the answer", str(row.response_code))] if row.response_code else []),
    ]


def _steps(row: KeyListing, user: Any, forms: dict[str, PlainForm]) -> list[dict[str, Any]]:
    return [
        {
            "step": step,
            "blocked": step.blocked(row, user),
            "form": forms.get(step.name) or step.fresh(row),
            "url": address_of(row, step.name),
        }
        for step in STEPS.values()
    ]


def _stored(row: KeyListing, user: Any, forms: dict[str, PlainForm]) -> dict[str, Any]:
    may = user.has_perm(VIEW_BODY)
    return {
        "url": address_of(row, "open"),
        "form": forms.get("open") or OpenForm(auto_id="open_%s"),
        "blocked": () if may else (f"You do not have the permission “{TITLES[VIEW_BODY]}”.",),
    }
