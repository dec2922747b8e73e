"""What providers told us by themselves: the list of what fits nothing yet, or never will."""

from typing import Any

from django.contrib import admin, messages
from django.db import OperationalError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from fulfilment.admin import event_columns, event_filters, event_pages
from fulfilment.admin.event_pages import EventPages
from fulfilment.errors import FulfilmentError
from fulfilment.models import EventStatus, ProviderEvent
from fulfilment.reconcile import people
from fulfilment.webhooks import replays
from idempotency.admin.paging import BoundedPaginator
from idempotency.times import clock

HEAD = {"title": "Provider events", "is_nav_sidebar_enabled": False}


@admin.register(ProviderEvent)
class ProviderEventAdmin(EventPages):
    """Oldest first; without a choice, what fits nothing."""

    list_display = (
        event_columns.what, event_columns.status, event_columns.why, event_columns.about,
        event_columns.age, event_columns.tried,
    )  # fmt: skip
    list_filter = (
        event_filters.StatusFilter, event_filters.ProviderFilter, event_filters.TypeFilter,
        event_filters.ReasonFilter, event_filters.AgeFilter,
    )  # fmt: skip
    search_fields = ("dedupe_key__exact", "reference__exact")
    search_help_text = (
        "The event's own name, or our reference; in all events, choose the status All"
    )
    sortable_by = ()  # every other order would sort the whole table
    list_per_page = 50
    paginator = BoundedPaginator
    show_full_result_count = False  # counting everything is a full scan on a grown table
    show_facets = admin.ShowFacets.NEVER
    actions = ("apply_again",)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Oldest first, by the index that has them in this order."""
        return ("pk",) if request.GET.get("status") == "all" else ("received_at", "pk")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under the number of what fits nothing."""
        waiting = ProviderEvent.objects
        head = {
            "given_up": waiting.filter(status=EventStatus.DEAD).count(),
            "parked": waiting.filter(status=EventStatus.PARKED).count(),
            "loaded": clock(timezone.now(), now=timezone.now()),
        }
        return super().changelist_view(request, HEAD | head)

    def has_replay_permission(self, request: HttpRequest) -> bool:
        """Whether the action is listed at all; its service asks again."""
        return people.may(request.user, people.REPLAY)

    @admin.action(description="Apply again", permissions=["replay"])
    def apply_again(self, request: HttpRequest, chosen: QuerySet[ProviderEvent]) -> None:
        """Each waits again, due now; workers apply them, so that nobody's browser has to wait."""
        events = list(chosen)
        left = [reason for event in events for reason in self._put_back(request, event)]
        done = len(events) - len(left)
        if done:
            said = f"{done} event{'' if done == 1 else 's'} will be applied again within seconds."
            messages.success(request, f"{said} Reload the list to see what became of them.")
        for reason in left[:5]:
            messages.warning(request, reason)

    def _put_back(self, request: HttpRequest, event: ProviderEvent) -> list[str]:
        try:
            replays.put_back(event.pk, actor=request.user)
        except (FulfilmentError, OperationalError) as error:
            return [f"{event.type} {event.dedupe_key} was left alone. {event_pages.why(error)}"]
        return []
