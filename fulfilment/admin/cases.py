"""The queue "Needs reconciliation" and the page of one case."""

from typing import Any

from django.contrib import admin, messages
from django.db import OperationalError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils import timezone

from fulfilment.admin import (
    access,
    columns,
    decisions,
    dossier,
    filters,
    outcomes,
    proposed,
    refusals,
    summary,
    work,
)
from fulfilment.admin.detail import DetailAdmin
from fulfilment.admin.dossier import Dossier
from fulfilment.admin.forms import NoteForm, form_of
from fulfilment.admin.resolve import STEPS, Step
from fulfilment.errors import FulfilmentError
from fulfilment.models import Fulfilment, Reconciliation
from fulfilment.reconcile import people
from fulfilment.states import State
from idempotency.times import clock

# Eight columns need the width; the breadcrumbs lead everywhere the side bar does.
HEAD = {"title": "Needs reconciliation", "is_nav_sidebar_enabled": False}


@admin.register(Reconciliation)
class ReconciliationAdmin(DetailAdmin):
    """Oldest first. Every button is a POST of its own, which its service checks again."""

    list_display = (
        columns.what, columns.amount, columns.age, columns.why, columns.last_word, columns.checks,
        columns.case, columns.owner,
    )  # fmt: skip
    list_filter = (
        filters.CaseFilter, filters.AgeFilter, filters.OwnerFilter, "connector", "currency",
    )  # fmt: skip
    ordering = ("created_at", "pk")
    list_per_page = 50
    show_facets = admin.ShowFacets.NEVER  # the head counts already

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """What waits for a verdict, with what the columns need. A case page shows any state."""
        waiting = super().get_queryset(request).filter(state=State.NEEDS_RECONCILIATION)
        return columns.with_history(waiting)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under its summary, which follows the filters."""
        response = super().changelist_view(request, HEAD)
        context = getattr(response, "context_data", None)
        if context and "cl" in context:
            now = timezone.now()
            context |= {
                "at_risk": summary.at_risk(context["cl"].queryset),
                "ages": summary.ages(context["cl"].queryset, now=now),
                "stopped": summary.stopped(now=now),
                "silent": summary.silent(),
                "resting": summary.resting(now=now),
                "elsewhere": summary.open_cases_elsewhere(),
                "loaded": clock(now, now=now),
            }
        return response

    def get_urls(self) -> list[URLPattern]:
        """The buttons, besides the stock ones."""
        return [*self.buttons(STEPS.values(), act=self.act), *super().get_urls()]

    def act(self, request: HttpRequest, pk: int, *, step: Step) -> HttpResponse:
        """Runs the step once and redirects, so that a reload repeats nothing."""
        fulfilment = self.visible(request, pk)
        back = HttpResponseRedirect(self.address(fulfilment))
        if request.method != "POST":
            return back  # a login in between ends here with GET
        form = step.form(request.POST)
        if not form.is_valid():
            incomplete = [refusals.incomplete(step.name, form)]
            return self.page(
                request, fulfilment, status=400, forms={step.name: form}, problems=incomplete
            )
        try:
            said = step.run(fulfilment, actor=request.user, **form.cleaned_data)
        except (FulfilmentError, OperationalError) as error:
            return self.refused(request, fulfilment.pk, error=error, given=form.cleaned_data)
        messages.success(request, said)
        return back

    def refused(
        self, request: HttpRequest, pk: int, *, error: Exception, given: dict[str, Any]
    ) -> HttpResponse:
        """Nothing was done: the page as it is now, with why, and with what was typed."""
        record = dossier.load(Fulfilment.objects.get(pk=pk))
        if refusals.is_echo(record, error, actor=people.name_of(request.user), given=given):
            messages.info(request, refusals.echo(record, actor=people.name_of(request.user)))
            return HttpResponseRedirect(self.address(record.fulfilment))
        return self.page(
            request,
            record.fulfilment,
            status=refusals.status_of(error),
            problems=[refusals.sentence(record, error)],
            unsaved=refusals.unsaved(given),
        )

    def additions(self, request: HttpRequest, record: Dossier, **more: Any) -> dict[str, Any]:
        """The buttons, each with its consequences or with why it cannot be pressed."""
        may, f = access.access_of(request.user), record.fulfilment
        forms = more.get("forms", {})
        return {
            "works_cases": True,
            "urls": {name: self.address_of(f, name) for name in STEPS},
            "ask": outcomes.ask(record, may),
            "decisions": [
                (outcome, form_of(outcome, record, forms), self.address_of(f, outcome.step))
                for outcome in decisions.decisions(record, may)
            ],
            "proposal": proposed.sentence(record),
            "case_sentence": work.sentence(record),
            "steps": [
                (step, self.address_of(f, step.name))
                for step in work.steps(record, may, name=request.user.get_username())
            ],
            "note": work.note(record, may),
            "note_form": forms.get("note") or NoteForm(auto_id="note_%s"),
        }

    def address_of(self, fulfilment: Fulfilment, step: str) -> str:
        """Where a button posts to."""
        return reverse(f"admin:fulfilment_reconciliation_{step}", args=[fulfilment.pk])
