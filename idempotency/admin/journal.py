"""What people did by hand: as lines on a key's page, and as a list of its own that only shows."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from idempotency import store
from idempotency.admin.paging import BoundedPaginator
from idempotency.admin.readonly import ReadOnly
from idempotency.models import AuditEntry
from idempotency.redaction import mask_text
from idempotency.times import when

if TYPE_CHECKING:
    _Base = admin.ModelAdmin[AuditEntry]
else:
    _Base = admin.ModelAdmin

_LINES = 50
_WORDS = {
    "settled": "gave it its answer",
    "released": "released it: nothing happened",
    "asked": "asked the other system",
    "body_opened": "opened the stored answer",
}


_OF_ACTIONS = {  # as their buttons say it
    "settled": "said that it happened",
    "released": "said that it did not happen",
}
_ACTIONS = "admin:idempotency_gatedaction_changelist"


@dataclass(frozen=True, slots=True)
class Line:
    """One entry in words."""

    time: SafeString
    who: str
    what: str
    reason: str


def entries(subject: str) -> list[AuditEntry]:
    """The newest entries about a subject, newest first."""
    known = AuditEntry.objects.using(store.alias(None)).filter(subject=subject)
    return list(known.order_by("-id")[:_LINES])


def lines(found: list[AuditEntry], *, now: datetime) -> list[Line]:
    """The entries as people read them."""
    return [
        Line(when(entry.at, now=now), who(entry), what(entry), mask_text(entry.reason))
        for entry in found
    ]


def who(entry: AuditEntry) -> str:
    """The name of the person."""
    return entry.actor.removeprefix("staff:")


def what(entry: AuditEntry) -> str:
    """What was done, in the past tense."""
    words = _OF_ACTIONS if entry.subject.startswith("action:") else _WORDS
    word = words.get(entry.action, entry.action.replace("_", " "))
    status = entry.details.get("status")
    return f"{word} ({status})" if status else word


def _key_page(name: str) -> str:
    return reverse("admin:idempotency_keylisting_change", args=[quote(name)])


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly, _Base):
    """Newest first; found by what it is about. The database refuses every change as well."""

    list_display = ("moment", "who", "what", "about", "why")
    list_display_links = ("moment",)
    fields = ("moment", "who", "what", "about", "subject", "why", "details")
    readonly_fields = ("moment", "who", "what", "about", "why")
    search_fields = ("subject__exact",)
    search_help_text = "key:<user>:<key> or action:<slot>, as the page of an entry shows it."
    ordering = ("-id",)
    actions = None
    paginator = BoundedPaginator
    show_full_result_count = False  # counting a large table costs more than the page

    class Media:
        css = {"all": ["idempotency/admin.css"]}

    @admin.display(description="when", ordering="-id")
    def moment(self, entry: AuditEntry) -> SafeString:
        """With zone and age."""
        return when(entry.at, now=timezone.now())

    @admin.display(description="who")
    def who(self, entry: AuditEntry) -> str:
        """The name of the person."""
        return who(entry)

    @admin.display(description="did what")
    def what(self, entry: AuditEntry) -> str:
        """In the words of a key's page."""
        return what(entry)

    @admin.display(description="to what")
    def about(self, entry: AuditEntry) -> SafeString:
        """The key or the action, leading to its page."""
        kind, _, name = entry.subject.partition(":")
        match kind:
            case "key":
                page, said = _key_page(name), f"key {name.partition(':')[2]}"
            case "action":
                page, said = f"{reverse(_ACTIONS)}?{urlencode({'q': name})}", f"action {name}"
            case _:
                return format_html("{}", entry.subject)
        return format_html('<a href="{}">{}</a>', page, said)

    @admin.display(description="why")
    def why(self, entry: AuditEntry) -> str:
        """What the person wrote, without numbers that nobody needs to see."""
        return mask_text(entry.reason)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under a title that says what is in it."""
        return super().changelist_view(
            request,
            {"title": "Audit trail: what people did by hand", "is_nav_sidebar_enabled": False},
        )

    def get_queryset(self, request: HttpRequest) -> Any:
        """Where the keys are."""
        return super().get_queryset(request).using(store.alias(None))
