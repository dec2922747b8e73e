"""All fulfilments in every state, to look at."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from fulfilment.admin import columns
from fulfilment.admin.detail import DetailAdmin
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.filters import CaseFilter, StateFilter
from fulfilment.models import Fulfilment

HEAD = {"title": "Payments in every state", "is_nav_sidebar_enabled": False}


@admin.register(Fulfilment)
class FulfilmentAdmin(DetailAdmin):
    """Newest first. Whatever waits for a verdict points to its case page."""

    list_display = (
        columns.what, columns.amount, columns.state, columns.why, columns.reference, columns.age,
    )  # fmt: skip
    list_filter = (CaseFilter, StateFilter, "kind", "connector", "currency")
    ordering = ("-pk",)
    list_per_page = 50
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False  # counting everything is a full scan on a grown table

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under a title that says what is in it."""
        return super().changelist_view(request, HEAD)

    def additions(self, request: HttpRequest, record: Dossier, **more: Any) -> dict[str, Any]:
        """Where to go on with a row that waits for something or has a case."""
        if not record.state.is_open and record.open_case is None:
            return {}
        if not request.user.has_perm("fulfilment.view_reconciliation"):
            return {}
        return {
            "case_url": reverse(
                "admin:fulfilment_reconciliation_change", args=[record.fulfilment.pk]
            )
        }
