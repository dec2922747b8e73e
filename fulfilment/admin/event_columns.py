"""The columns of the list of provider events, one function each."""

from django.contrib import admin
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fulfilment.admin import event_words, words
from fulfilment.models import WAITING, ProviderEvent
from idempotency.times import span, when


@admin.display(description="event")
def what(event: ProviderEvent) -> SafeString:
    """Its type, and who says it."""
    mode = "" if event.livemode else ", test mode"
    return format_html("<b>{}</b><br>by {}{}", event.type, words.provider(event.provider), mode)


@admin.display(description="status")
def status(event: ProviderEvent) -> SafeString:
    """The status in a word, its colour repeating it."""
    badge = event_words.badge(event)
    return format_html('<span class="badge {}">{}</span>', badge.tone, badge.text)


@admin.display(description="why")
def why(event: ProviderEvent) -> str:
    """The reason on record."""
    return event_words.why(event)


@admin.display(description="about")
def about(event: ProviderEvent) -> SafeString:
    """The payment, where it has one; else the reference that it names."""
    name = event.reference or "no reference"
    if event.fulfilment_id is None:
        return format_html("<code>{}</code>", name)
    page = reverse("admin:fulfilment_fulfilment_change", args=[event.fulfilment_id])
    return format_html('<a href="{}"><code>{}</code></a>', page, name)


@admin.display(description="age")
def age(event: ProviderEvent) -> str:
    """How long ago it came."""
    return span(timezone.now() - event.received_at)


@admin.display(description="tried")
def tried(event: ProviderEvent) -> SafeString:
    """How often, and when again."""
    times = f"{event.checks} time{'' if event.checks == 1 else 's'}"
    if event.status not in WAITING:
        return format_html("{}", times)
    return format_html("{}<br>next: {}", times, when(event.next_check_at, now=timezone.now()))
