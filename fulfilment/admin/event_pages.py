"""The page of one event, and its buttons: each a POST of its own, which its service checks again."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse
from django.utils.html import format_html

from fulfilment import store
from fulfilment.admin import event_page, refusals, words
from fulfilment.admin.event_steps import STEPS, SeenForm, Step
from fulfilment.admin.readonly import PageAdmin
from fulfilment.errors import FulfilmentError, Stale
from fulfilment.models import ProviderEvent
from fulfilment.reconcile import people
from fulfilment.webhooks import replays
from idempotency.times import when


class EventPages(PageAdmin):
    """What is known of an event, what happens by itself, and what a person may do."""

    trail = "trail"

    def get_urls(self) -> list[URLPattern]:
        """The buttons, besides the stock ones."""
        return [*self.buttons(STEPS.values(), act=self.act), *super().get_urls()]

    def act(self, request: HttpRequest, pk: int, *, step: Step) -> HttpResponse:
        """Runs the step once and redirects, so that a reload repeats nothing."""
        event = self.visible(request, pk)
        back = HttpResponseRedirect(self.address(event))
        if request.method != "POST":
            return back  # a login in between ends here with GET
        form = step.form(request.POST, auto_id=f"{step.name}_%s")
        if not form.is_valid():
            problems = [refusals.incomplete(step.name, form)]
            return self.page(request, event, status=400, forms={step.name: form}, problems=problems)
        try:
            said = step.run(event, actor=request.user, **form.cleaned_data)
        except (FulfilmentError, OperationalError) as error:
            return self.refused(request, pk, error=error, form=form)
        messages.success(request, said)
        return back

    def refused(
        self, request: HttpRequest, pk: int, *, error: Exception, form: SeenForm
    ) -> HttpResponse:
        """Nothing was done: the page as it is now, with who was faster, and what was typed."""
        event, now = ProviderEvent.objects.get(pk=pk), store.now()
        mine = isinstance(error, Stale) and error.who == people.name_of(request.user)
        if isinstance(error, Stale) and mine:
            said = "You did this already, at {}. It was done once; this click changed nothing."
            messages.info(request, format_html(said, when(error.at, now=now)))
            return HttpResponseRedirect(self.address(event))
        problem = format_html("Not done. {}", why(error))
        if isinstance(error, Stale):
            who, moment = words.who(error.who), when(error.at, now=now)
            problem = format_html(
                "Not done: {} was faster, at {}. This is how it is now.", who, moment
            )
        return self.page(
            request,
            event,
            status=refusals.status_of(error),
            problems=[problem],
            unsaved=refusals.unsaved(form.cleaned_data),
        )

    def visible(self, request: HttpRequest, object_id: object) -> ProviderEvent:
        """The event, for whoever may see it; 403 and 404 otherwise."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        number = str(object_id) if str(object_id).isdecimal() else "0"
        rows = ProviderEvent.objects.select_related("fulfilment", "evidence")
        return get_object_or_404(rows, pk=min(int(number), 2**63 - 1))

    def address(self, event: ProviderEvent) -> str:
        """Where its page lives."""
        return reverse("admin:fulfilment_providerevent_change", args=[event.pk])

    def page(
        self,
        request: HttpRequest,
        event: ProviderEvent,
        *,
        status: int = 200,
        forms: dict[str, SeenForm] | None = None,
        **more: Any,
    ) -> HttpResponse:
        """The page as of now; `more` goes into its context."""
        context = {
            **self.admin_site.each_context(request),
            **event_page.context(event, now=store.now()),
            "opts": self.opts,
            "is_nav_sidebar_enabled": False,
            "list_url": reverse("admin:fulfilment_providerevent_changelist"),
            "steps": [
                self._offer(step, event, request.user, forms or {}) for step in STEPS.values()
            ],
            **more,
        }
        return TemplateResponse(request, "admin/fulfilment/event.html", context, status=status)

    def _offer(
        self, step: Step, event: ProviderEvent, user: Any, forms: dict[str, SeenForm]
    ) -> dict[str, Any]:
        seen = {"seen": replays.steps_on(event)}
        return {
            "step": step,
            "blocked": step.blocked(event, user),
            "form": forms.get(step.name) or step.form(initial=seen, auto_id=f"{step.name}_%s"),
            "url": reverse(f"admin:fulfilment_providerevent_{step.name}", args=[event.pk]),
        }


def why(error: Exception) -> str:
    """What was in the way, in a sentence."""
    if isinstance(error, OperationalError):
        return "Somebody else is changing this very event. Wait a moment and try again."
    return str(error)
