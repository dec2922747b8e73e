"""The columns of the list of keys, one function each."""

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from idempotency.admin.states import STATES
from idempotency.key import reference_of
from idempotency.models import KeyListing
from idempotency.redaction import mask_text
from idempotency.times import span, when


@admin.display(description="state, and status of the answer")
def state(row: KeyListing) -> SafeString:
    """The state in words, its colour repeating them, and what was answered."""
    known, code = STATES[row.state], row.response_code or ""
    return format_html('<span class="badge {}">{}</span> {}', known.tone, known.word, code)


@admin.display(description="operation")
def operation(row: KeyListing) -> str:
    """What was asked for, without the modules in which it lives: the key's page has it in full."""
    return short(row.operation)


def short(operation: str) -> str:
    """`shop.api.orders.Orders.post` → `Orders.post`."""
    return ".".join(operation.split(".")[-2:])


@admin.display(description="reference, and whose it is")
def reference(row: KeyListing) -> SafeString:
    """Our name for it at the other system, above the user."""
    name = reference_of(row.user_id, row.key)
    return format_html("<code>{}</code><br><code>{}</code>", name, row.user_id)


@admin.display(description="age", ordering="created_at")
def age(row: KeyListing) -> str:
    """How long ago the key was first used."""
    return span(timezone.now() - row.created_at)


@admin.display(description="why, and next check")
def why(row: KeyListing) -> str:
    """Of a held key: what is known, and when somebody asks again."""
    if row.state != "held":
        return ""
    now = timezone.now()
    return format_html(
        "{}<br>held for {}<br>next: {}",
        mask_text(row.hold_reason),
        span(now - (row.held_at or now)),
        when(row.next_check_at, now=now, missing="with the next sweep"),
    )
