"""What is known of a key, and what happens if nobody does anything: one plain sentence each."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from idempotency import conf, operations
from idempotency.models import KeyListing
from idempotency.redaction import mask_text
from idempotency.times import clock, span, when


@dataclass(frozen=True, slots=True)
class Told:
    """A key's story as of one moment."""

    happened: str
    otherwise: str  # if nothing is done


def tell(row: KeyListing, *, now: datetime) -> Told:
    """The story of a key in whatever state."""
    return _STORIES[row.state](row, now)


def can_be_asked(row: KeyListing) -> bool:
    """Is the view still installed whose `recover` asks about this key?"""
    return row.operation in operations.registered()


def _held(row: KeyListing, now: datetime) -> Told:
    begun = (
        format_html("the other system may have heard of it at {}", when(row.sent_at, now=now))
        if row.sent_at
        else "its handler could not tell whether it was sent"
    )
    happened = format_html(
        "Nobody knows whether this happened: {}. Held since {}: {}.",
        begun,
        when(row.held_at, now=now),
        mask_text(row.hold_reason),
    )
    return Told(happened, _asked_on(row, now))


def _asked_on(row: KeyListing, now: datetime) -> SafeString:
    told = "Until then its client is told “outcome unknown, ask again with the same key”."
    if not can_be_asked(row):
        return format_html(
            "Nobody asks: no view named {} is installed any more. It stays held until a person "
            "decides. {}",
            row.operation,
            told,
        )
    return format_html(
        "The other system is asked again at {}, then ever more rarely, but at least once in {}. {}",
        when(row.next_check_at, now=now, missing="the next sweep"),
        span(conf.current().recheck_last),
        told,
    )


def _overdue(row: KeyListing, now: datetime) -> Told:
    ended = when(row.locked_until, now=now)
    if row.sent_at is None:
        return Told(
            format_html("The request came to no end by {}, and had sent nothing.", ended),
            "The next sweep frees the key: nothing can have happened.",
        )
    return Told(
        format_html(
            "The request came to no end by {}. The other system may have heard of it at {}.",
            ended,
            when(row.sent_at, now=now),
        ),
        "The next sweep asks the other system, if it can; what nobody can say is held.",
    )


def _waiting(row: KeyListing, now: datetime) -> Told:
    return Told(
        format_html(
            "Nothing happened under this key: that was found out at {}.",
            when(row.cleared_at, now=now),
        ),
        "The key waits for its client. The same request with it runs; another one is refused.",
    )


def _leased(row: KeyListing, now: datetime) -> Told:
    sent = (
        format_html(" The other system may have heard of it at {}.", clock(row.sent_at, now=now))
        if row.sent_at
        else ""
    )
    return Told(
        format_html("The request is running since {}.{}", when(row.created_at, now=now), sent),
        format_html(
            "It ends by itself, or a sweep finds out after {}.", clock(_until(row), now=now)
        ),
    )


def _deferred(row: KeyListing, now: datetime) -> Told:
    return Told(
        format_html(
            "The request was accepted at {}, and its outcome is open.",
            when(row.created_at, now=now),
        ),
        "Whoever learns the outcome gives the key its answer; nothing is done here.",
    )


def _final(row: KeyListing, now: datetime) -> Told:
    verb = "done" if row.state == "completed" else "refused"
    return Told(
        format_html(
            "The request was {} and answered {} at {}.",
            verb,
            row.response_code,
            when(row.completed_at, now=now),
        ),
        "Every retry gets this answer, for as long as the key is kept.",
    )


def _until(row: KeyListing) -> datetime:
    return row.locked_until or row.created_at


_STORIES = {
    "held": _held,
    "overdue": _overdue,
    "waiting": _waiting,
    "leased": _leased,
    "deferred": _deferred,
    "completed": _final,
    "failed": _final,
}
