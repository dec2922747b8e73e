"""The page of one fulfilment: read-only here, with buttons where `cases` builds upon it."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from fulfilment.admin import compare, dossier, ending, outlook, siblings, story, timeline, words
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.event_page import events_about
from fulfilment.admin.money import money
from fulfilment.admin.readonly import PageAdmin
from fulfilment.models import Fulfilment
from idempotency.times import clock


class DetailAdmin(PageAdmin):
    """Lists rows; each opens a page that tells its story."""

    search_fields = (
        "reference__exact",
        "payment_id",
        "event_id__exact",
        "evidence__provider_id__exact",
    )
    search_help_text = "Our reference, the payment's id, the event's id, or the provider's id"
    change_form_template = "admin/fulfilment/detail.html"

    def visible(self, request: HttpRequest, object_id: object) -> Fulfilment:
        """The row, in whatever state, for whoever may see it; 403 and 404 otherwise."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if not str(object_id).isdecimal():
            object_id = 0
        return get_object_or_404(Fulfilment, pk=object_id)

    def address(self, fulfilment: Fulfilment) -> str:
        """Where this page lives."""
        return reverse(f"admin:fulfilment_{self.opts.model_name}_change", args=[fulfilment.pk])

    def page(
        self, request: HttpRequest, fulfilment: Fulfilment, *, status: int = 200, **more: Any
    ) -> HttpResponse:
        """The page as of now; `more` goes into its context."""
        record = dossier.load(fulfilment)
        context = {
            **self.admin_site.each_context(request),
            **_facts(record),
            "opts": self.opts,
            "is_nav_sidebar_enabled": False,
            "list_url": reverse(f"admin:fulfilment_{self.opts.model_name}_changelist"),
            **more,
            **self.additions(request, record, **more),
        }
        return TemplateResponse(request, self.change_form_template, context, status=status)

    def additions(self, request: HttpRequest, record: Dossier, **more: Any) -> dict[str, Any]:
        """What a page with buttons adds."""
        return {}


def _facts(record: Dossier) -> dict[str, Any]:
    f = record.fulfilment
    payee = words.payee(f.instruction)
    kind = f.kind.replace("_", " ").capitalize()
    return {
        "title": f"{kind} of {money(f.amount, f.currency)}" + (f" to {payee}" if payee else ""),
        "badge": words.badge(f.state),
        "tone": "unknown" if ending.is_doubtful(record) else words.badge(f.state).tone,
        "story": story.sentence(record),
        "comparison": compare.compare(record),
        "outlook": outlook.if_nothing_is_done(record),
        "timeline": timeline.timeline(record),
        "siblings": siblings.siblings(record),
        "events": events_about(f, now=record.now),
        "loaded": clock(record.now, now=record.now),
    }
