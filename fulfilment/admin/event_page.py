"""What the page of one event shows: its story, its body with numbers masked, and its record."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import event_words, words
from fulfilment.admin.event_filters import OPEN
from fulfilment.models import (
    WAITING,
    EventStatus,
    ProviderEvent,
    ProviderEventConflict,
    ProviderEventPayload,
)
from idempotency.redaction import mask, mask_text
from idempotency.times import clock, when

_LONGEST = 20_000  # characters of a body that the page shows


@dataclass(frozen=True, slots=True)
class Line:
    """One step by hand."""

    time: SafeString
    who: str
    what: str
    note: str


@dataclass(frozen=True, slots=True)
class Other:
    """Another body that came under the event's name."""

    time: SafeString
    told: SafeString
    body: str


def context(event: ProviderEvent, *, now: datetime) -> dict[str, Any]:
    """The page as of `now`."""
    return {
        "title": event.type,
        "badge": event_words.badge(event),
        "happened": event_words.happened(event, now=now),
        "otherwise": event_words.otherwise(event, now=now),
        "payment": event.fulfilment,
        "payment_badge": words.badge(event.fulfilment.state) if event.fulfilment else None,
        "facts": _facts(event, now=now),
        "body": _body(event),
        "others": [_other(conflict, event, now=now) for conflict in event.conflicts.order_by("id")],
        "lines": [
            Line(
                when(a.acted_at, now=now),
                words.who(a.actor),
                a.get_action_display(),
                mask_text(a.note),
            )
            for a in event.actions.order_by("id")
        ],
        "loaded": clock(now, now=now),
    }


def _facts(event: ProviderEvent, *, now: datetime) -> list[tuple[str, Any]]:
    texts = (
        ("Provider", words.provider(event.provider)),
        ("Its account", event.account or "it names none"),
        ("Mode", "live" if event.livemode else "test"),
        ("Type", event.type),
        ("Its name", event.dedupe_key),
        ("About", event.reference or "it names no reference of ours"),
        ("What it says", _said(event)),
    )
    times = (
        ("Received", event.received_at),
        ("Applied", event.applied_at),
        ("Next try", event.next_check_at),
    )
    return [
        *texts,
        *((label, when(time, now=now)) for label, time in times if time is not None),
        ("Times tried", event.checks),
        ("SHA-256 of its content", event.digest),
    ]


def _said(event: ProviderEvent) -> str:
    if event.evidence is None:
        if event.status in (*WAITING, EventStatus.DEAD, EventStatus.SET_ASIDE):
            return "it is not applied, so it counts for nothing yet; its body says what it tells"
        return "nothing: it is no evidence"
    return f"{words.provider(event.provider)} {words.says(event.evidence.finding)}"


def _body(event: ProviderEvent) -> str:
    """As people may see it; empty where it is not kept any more."""
    kept = ProviderEventPayload.objects.filter(event=event).first()
    return "" if kept is None else _shown(bytes(kept.body), event)


def _other(conflict: ProviderEventConflict, event: ProviderEvent, *, now: datetime) -> Other:
    told = format_html("{}", "no case: it is about no payment here")
    if conflict.raised_at is not None:
        told = format_html("a case was told of it at {}", when(conflict.raised_at, now=now))
    body = "" if conflict.body is None else _shown(bytes(conflict.body), event)
    return Other(when(conflict.received_at, now=now), told, body)


def _shown(body: bytes, event: ProviderEvent) -> str:
    """Numbers by their ends, without secrets; laid out where it is JSON."""
    text = mask(event.type, body, "application/json").decode(errors="backslashreplace")
    if event.fulfilment is not None:
        text = words.hide(text, words.number_of(event.fulfilment.instruction))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def events_about(payment: Any, *, now: datetime) -> list[dict[str, Any]]:
    """What the provider told us of a payment by itself, oldest first, also where it was not believed.

    An event that is not applied is found by the reference that it names, among those few.
    """
    open_ones = ProviderEvent.objects.filter(status__in=OPEN, fulfilment=None)
    found = {e.pk: e for e in payment.events.all()}
    found |= {e.pk: e for e in open_ones.filter(reference=payment.reference)}
    return [
        {
            "event": event,
            "badge": event_words.badge(event),
            "why": event_words.why(event),
            "time": when(event.received_at, now=now),
            "url": reverse("admin:fulfilment_providerevent_change", args=[event.pk]),
        }
        for _, event in sorted(found.items())
    ]
