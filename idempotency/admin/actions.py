"""The list of guarded actions: those of which nobody knows first among the filters."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from idempotency.admin.action_pages import ActionPages
from idempotency.admin.action_story import STATES, state_of
from idempotency.admin.paging import BoundedPaginator
from idempotency.gate.identity import identity_of
from idempotency.models import GatedAction
from idempotency.redaction import mask_text
from idempotency.times import span, when


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        held = model_admin.held().count()  # a handful among millions: the index has them
        yield "held", f"{STATES['held']} ({held})"
        yield "claimed", "Running, or came to no end"
        yield "settled", str(STATES["settled"])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = self.value() in GatedAction.State.values
        return queryset.filter(state=self.value()) if known else queryset


@admin.register(GatedAction)
class GatedActionAdmin(ActionPages):
    """Nothing is edited, added or deleted; what may be done to a held one is a POST of its own."""

    list_display = ("action", "badge", "target", "key", "namespace", "age", "why")
    list_filter = (StateFilter,)
    sortable_by = ()  # every other order would sort the whole table
    search_fields = ("slot",)
    search_help_text = "A whole slot; or the action and its target, such as: refund.approve 17"
    ordering = ("-id",)
    list_per_page = 50
    actions = None
    paginator = BoundedPaginator
    show_full_result_count = False  # counting a large table costs more than the page
    show_facets = admin.ShowFacets.NEVER

    @admin.display(description="state")
    def badge(self, row: GatedAction) -> SafeString:
        """The state in words, its colour repeating them."""
        known = state_of(row, now=timezone.now())
        return format_html('<span class="badge {}">{}</span>', known.tone, known.word)

    @admin.display(description="age")
    def age(self, row: GatedAction) -> str:
        """How long ago it was claimed."""
        return span(timezone.now() - row.claimed_at)

    @admin.display(description="why")
    def why(self, row: GatedAction) -> str:
        """Of a held one: what is known, and since when."""
        if row.state != "held":
            return ""
        since = when(row.held_at, now=timezone.now())
        return format_html("{}<br>since {}", mask_text(row.hold_reason), since)

    def held(self) -> QuerySet[GatedAction]:
        """The actions of which nobody knows whether they happened."""
        return GatedAction.objects.using(self.alias()).filter(state="held")

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Newest first; of the held ones, whoever has waited longest."""
        return ("held_at",) if request.GET.get("state") == "held" else self.ordering

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under the number of what waits for a person."""
        head = {"title": "Guarded actions", "held": self.held().count()}
        return super().changelist_view(request, head | {"is_nav_sidebar_enabled": False})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[GatedAction], search_term: str
    ) -> tuple[QuerySet[GatedAction], bool]:
        """By the slot's index only: what is named is made into its slot first."""
        words = search_term.split()
        return (queryset.filter(slot__in=_slots(words)) if words else queryset), False


def _slots(words: list[str]) -> list[str]:
    """The slots that the words may mean: one itself, or an action with its target or key."""
    if len(words) == 1:
        return words
    action, name = words[0], " ".join(words[1:])
    try:
        found = [identity_of(action, target=name), identity_of(action, key=name)]
    except ValueError:
        return []
    return [identity.slot for identity in found if identity is not None]
