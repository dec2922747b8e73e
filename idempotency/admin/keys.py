"""The list of keys: found by whose they are, held ones first among the filters."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from idempotency import store
from idempotency.admin import columns, filters
from idempotency.admin.detail import KeyPages, uuid_of
from idempotency.admin.paging import BoundedPaginator
from idempotency.admin.states import STATES
from idempotency.models import KeyListing


@admin.register(KeyListing)
class KeyListingAdmin(KeyPages):
    """Nothing is edited, added or deleted; what may be done to a held key is a POST of its own."""

    list_display = (
        "key", columns.state, "operation", columns.reference, "user_id", columns.age, columns.why,
        "response_code",
    )  # fmt: skip
    list_filter = (filters.StateFilter, filters.AgeFilter)
    # every other order would sort the whole table
    sortable_by = (columns.age,)  # type: ignore[assignment]  # functions, as in list_display
    search_fields = ("key", "user_id")
    search_help_text = "A whole key, a user's UUID, or both."
    ordering = ("-created_at",)
    list_per_page = 50
    actions = None
    paginator = BoundedPaginator
    show_full_result_count = False  # counting a large table costs more than the page
    show_facets = admin.ShowFacets.NEVER

    def held(self) -> QuerySet[KeyListing]:
        """The keys of which nobody knows what became of them."""
        return KeyListing.objects.using(store.alias(None)).filter(STATES["held"].rows)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Newest first; of the held ones, whoever has waited longest."""
        return ("held_at",) if request.GET.get("state") == "held" else self.ordering

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under the number of what waits for a person."""
        head = {"title": "Idempotency keys", "held": self.held().count()}
        return super().changelist_view(request, head | {"is_nav_sidebar_enabled": False})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[KeyListing], search_term: str
    ) -> tuple[QuerySet[KeyListing], bool]:
        """Every word narrows: it is the whole key, or the user."""
        for word in search_term.split():
            queryset = queryset.filter(_names(word))
        return queryset, False


def _names(word: str) -> Q:
    scope = uuid_of(word)
    return Q(key=word) if scope is None else Q(key=word) | Q(user_id=scope)
