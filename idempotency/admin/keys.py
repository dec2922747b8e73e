"""The list of keys: found by whose they are, held ones first among the filters."""

from datetime import UTC, datetime
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

# How far back a key is looked for whose user is not known: a tenth of a second's reading.
NEWEST = 100_000


@admin.register(KeyListing)
class KeyListingAdmin(KeyPages):
    """Nothing is edited, added or deleted; what may be done to a held key is a POST of its own."""

    list_display = (
        "key", columns.state, columns.operation, columns.reference, columns.age, columns.why,
    )  # fmt: skip
    list_filter = (filters.StateFilter, filters.AgeFilter)
    # every other order would sort the whole table
    sortable_by = (columns.age,)  # type: ignore[assignment]  # functions, as in list_display
    search_fields = ("key", "user_id")
    search_help_text = (
        f"A user's UUID, a whole key, or both. Alone, a key is found among the newest {NEWEST:,}."
    )
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
        """The whole key, or the user, or both in any order; a part of either finds nothing."""
        return queryset.filter(_wanted(search_term.split(), queryset)), False


def _wanted(words: list[str], rows: QuerySet[KeyListing]) -> Q:
    match words:
        case [word]:
            user = uuid_of(word)
            key = Q(key=word, created_at__gte=_newest(rows))
            return key if user is None else key | Q(user_id=user)
        case [first, second]:
            return _both(first, second) | _both(second, first)
        case _:
            return _NOTHING if words else Q()


def _both(user: str, key: str) -> Q:
    scope = uuid_of(user)
    return _NOTHING if scope is None else Q(user_id=scope, key=key)


def _newest(rows: QuerySet[KeyListing]) -> datetime:
    """Since when the NEWEST keys were used. An index on the key alone would cost every request a
    write, and the planner would prefer it to the primary key for keys that many clients share."""
    known = rows.order_by("-created_at").values_list("created_at", flat=True)[NEWEST : NEWEST + 1]
    return next(iter(known), datetime.min.replace(tzinfo=UTC))


_NOTHING = Q(pk__in=[])
