"""What is known of a guarded action, and what happens if nobody does anything."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString

from idempotency import conf
from idempotency.models import GatedAction
from idempotency.redaction import mask_text
from idempotency.times import clock, when

_LONGEST = 2_000  # characters of a result that the page shows


@dataclass(frozen=True, slots=True)
class State:
    """One state as people read it."""

    word: str
    tone: str  # unknown | waiting | done | not-done

    def __str__(self) -> str:
        return self.word


STATES = {
    "held": State("Held: nobody knows", "unknown"),
    "overdue": State("Came to no end", "unknown"),
    "claimed": State("Running", "waiting"),
    "settled": State("Done", "done"),
}


def state_of(row: GatedAction, *, now: datetime) -> State:
    """Where the action stands; a claim whose lease is over is not running any more."""
    late = row.locked_until is not None and row.locked_until <= now
    return STATES["overdue" if late else row.state]


def tell(row: GatedAction, *, now: datetime) -> tuple[SafeString, str]:
    """What happened, and what happens if nothing is done."""
    begun = when(row.claimed_at, now=now)
    if row.state == "settled":
        said = format_html("It was begun at {} and done.", begun)
        return said, "It is never done again. Whoever asks for it gets this result."
    if row.state == "held":
        said = format_html(
            "Nobody knows whether this happened. It was begun at {} and is held since {}: {}.",
            begun,
            when(row.held_at, now=now),
            mask_text(row.hold_reason),
        )
        return said, "It stays held, and nobody can do it, until a person says what became of it."
    until = row.locked_until or row.claimed_at
    if until <= now:
        said = format_html("It was begun at {} and came to no end.", begun)
        return said, "The next sweep holds it. It is not run again."
    said = format_html("It is being done since {}.", begun)
    return said, f"It ends by itself, or is held after {clock(until, now=now)}."


def facts(row: GatedAction, *, now: datetime) -> list[tuple[str, Any]]:
    """The record, line by line."""
    named = (
        ("Action", row.action),
        ("Target", row.target),
        ("Key", row.key),
        ("Namespace", row.namespace),
        ("Slot", row.slot),
    )
    times = (
        ("Begun", row.claimed_at),
        ("Owned by its caller until", row.locked_until),
        ("Held since", row.held_at),
        ("Done", row.settled_at),
    )
    return [
        *((label, text) for label, text in named if text),
        *((label, when(time, now=now)) for label, time in times if time is not None),
        *([("Result", _result(row))] if row.state == "settled" else []),
    ]


def _result(row: GatedAction) -> str:
    """As people may see it; callers get it as it is."""
    if row.result is None:
        return "It could not be kept: no JSON, or too large."
    shown = import_string(conf.current().redact)(
        row.action, row.result.encode(), "application/json"
    )
    text: str = shown.decode(errors="replace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
