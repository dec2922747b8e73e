"""How far an event has come, in words: what happened to it, and what happens if nobody does anything."""

from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import words
from fulfilment.admin.words import Badge
from fulfilment.models import EventStatus, ProviderEvent, ProviderEventAction
from fulfilment.webhooks import applying
from idempotency.redaction import mask_text
from idempotency.times import when

BADGES = {
    EventStatus.RECEIVED: Badge("Waits to be applied", "waiting"),
    EventStatus.PARKED: Badge("Parked", "unknown"),
    EventStatus.DEAD: Badge("Given up", "alarm"),
    EventStatus.SET_ASIDE: Badge("Set aside", "not-done"),
    EventStatus.APPLIED: Badge("Applied", "done"),
    EventStatus.IGNORED: Badge("Of no use here", "not-done"),
}


def badge(event: ProviderEvent) -> Badge:
    """The status in a word."""
    return BADGES[EventStatus(event.status)]


def why(event: ProviderEvent) -> str:
    """The reason on record, as a sentence begins; empty where there is none."""
    text = mask_text(event.reason)
    return text[:1].upper() + text[1:]


def happened(event: ProviderEvent, *, now: datetime) -> SafeString:
    """What became of it so far."""
    came = format_html(
        "{} sent this event at {}.",
        words.provider(event.provider),
        when(event.received_at, now=now),
    )
    return format_html("{} {}", came, _then(event, now=now))


def _then(event: ProviderEvent, *, now: datetime) -> SafeString:
    reason, times = why(event).rstrip("."), _times(event.checks)
    match EventStatus(event.status):
        case EventStatus.RECEIVED:
            return format_html("{}", "It waits to be applied.")
        case EventStatus.PARKED:
            return format_html("It was tried {}, and it waits: {}.", times, _inside(reason))
        case EventStatus.DEAD:
            return format_html("{}. It was tried {} and given up.", reason, times)
        case EventStatus.APPLIED:
            applied = format_html("It was applied at {}.", when(event.applied_at, now=now))
            return format_html("{} {}.", applied, reason) if reason else applied
        case EventStatus.SET_ASIDE:
            return _set_aside(event, now=now)
        case _:
            return format_html("{}", "Events of its type are not used here: it was only kept.")


def otherwise(event: ProviderEvent, *, now: datetime) -> SafeString:
    """What happens if nobody does anything."""
    match EventStatus(event.status):
        case EventStatus.RECEIVED:
            return format_html("{}", "A worker applies it by itself, within seconds.")
        case EventStatus.PARKED:
            return format_html(
                "It is tried again at {}, ever more rarely, and given up at {}. "
                "The provider has its 200 and does not send it again.",
                when(event.next_check_at, now=now),
                when(applying.gives_up_at(event), now=now),
            )
        case EventStatus.DEAD:
            return format_html(
                "{}",
                "It stays on record and is not tried again. The provider has its 200 and does not "
                "send it again. A payment that waits for a verdict is asked about in any case.",
            )
        case EventStatus.SET_ASIDE:
            return format_html("{}", "It stays set aside.")
        case _:
            return format_html("{}", "Nothing: it is done with, and stays on record.")


def _set_aside(event: ProviderEvent, *, now: datetime) -> SafeString:
    step = event.actions.filter(action=ProviderEventAction.Action.SET_ASIDE).order_by("-id").first()
    if step is None:
        return format_html("{}", "It was set aside.")
    who, moment = words.who(step.actor), when(step.acted_at, now=now)
    return format_html("{} set it aside at {}: {}", who, moment, mask_text(step.note))


def _inside(reason: str) -> str:
    return reason[:1].lower() + reason[1:] or "nothing is known of why"


def _times(count: int) -> str:
    return {0: "not once", 1: "once", 2: "twice"}.get(count, f"{count} times")
