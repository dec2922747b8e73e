"""The page of one guarded action, and its buttons: each a POST, which its service checks again."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html

from idempotency import errors, people, store, trail
from idempotency.admin import action_story, journal, refusals
from idempotency.admin.action_steps import STEPS, Step
from idempotency.admin.forms import PlainForm, SeenForm
from idempotency.admin.readonly import ReadOnly
from idempotency.models import GatedAction
from idempotency.times import clock, when

if TYPE_CHECKING:
    _Base = admin.ModelAdmin[GatedAction]
else:
    _Base = admin.ModelAdmin

_SECOND_CLICK = timedelta(minutes=5)
_LIST = "admin:idempotency_gatedaction_changelist"


class ActionPages(ReadOnly, _Base):
    """What is known of an action, what happens by itself, and what may be done where it is held."""

    def alias(self) -> str:
        """Where the actions are."""
        return store.alias(None)

    def get_queryset(self, request: HttpRequest) -> QuerySet[GatedAction]:
        return super().get_queryset(request).using(self.alias())

    def get_urls(self) -> list[URLPattern]:
        """One address per button. Each owns its transactions, whatever the project does."""
        outside = transaction.non_atomic_requests(using=self.alias())
        steps: dict[str, Callable[..., HttpResponse]] = {
            name: partial(self.act, step=step) for name, step in STEPS.items()
        }
        return [
            *(
                path(
                    f"<int:pk>/{name}/",
                    outside(self.admin_site.admin_view(view)),
                    name=f"idempotency_gatedaction_{name}",
                )
                for name, view in steps.items()
            ),
            *super().get_urls(),
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Shows. A POST to it, from whoever made it by hand, changes nothing."""
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        if row is None or not self.has_view_permission(request):
            return super().change_view(request, object_id, form_url, extra_context)
        return self.page(request, row)

    def act(self, request: HttpRequest, pk: int, *, step: Step) -> HttpResponse:
        """Runs the step once and redirects, so that a reload repeats nothing."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_queryset(request).filter(pk=pk).first()
        if request.method != "POST":  # a login in between ends here with GET
            return self.back(row)
        form = step.form(request.POST, auto_id=f"{step.name}_%s")
        if not form.is_valid():
            if row is None:
                raise Http404
            problems = [refusals.incomplete(step.name)]
            return self.page(request, row, status=400, problems=problems, forms={step.name: form})
        try:
            said = step.run(pk, user=request.user, form=form)
        except (errors.IdempotencyError, OperationalError) as error:
            return self.refused(request, pk, step=step, error=error, form=form)
        messages.success(request, said)
        return self.back(self.get_queryset(request).filter(pk=pk).first())

    def refused(
        self, request: HttpRequest, pk: int, *, step: Step, error: Exception, form: SeenForm
    ) -> HttpResponse:
        """Nothing was done: how it stands now, who was faster, and what was typed."""
        row = self.get_queryset(request).filter(pk=pk).first()
        slot = form.cleaned_data["slot"] if row is None else row.slot
        newest = next(iter(journal.entries(trail.action_subject(slot))), None)
        over = isinstance(error, errors.HoldOver) and newest is not None
        if over and newest is not None and _is_own(newest, step, request.user):
            moment = when(newest.at, now=timezone.now())
            said = "You did this already, at {}. It was done once; this click changed nothing."
            messages.info(request, format_html(said, moment))
            return self.back(row)
        if over and newest is not None:
            moment = when(newest.at, now=timezone.now())
            who, what = journal.who(newest), journal.what(newest)
            said = format_html("Not done: {} {} at {}.", who, what, moment)
        else:
            said = format_html("Not done. {}", _sentence(error))
        if row is None:
            messages.error(request, said)
            return self.back(None)
        unsaved = refusals.unsaved(form)
        return self.page(request, row, status=_status(error), problems=[said], unsaved=unsaved)

    def back(self, row: GatedAction | None) -> HttpResponseRedirect:
        """To the action's page; to the list, where there is none any more."""
        if row is None:
            return HttpResponseRedirect(reverse(_LIST))
        return HttpResponseRedirect(reverse("admin:idempotency_gatedaction_change", args=[row.pk]))

    def page(
        self,
        request: HttpRequest,
        row: GatedAction,
        *,
        status: int = 200,
        forms: dict[str, PlainForm] | None = None,
        **more: Any,
    ) -> HttpResponse:
        """The page as of now; `more` goes into its context."""
        now = timezone.now()
        happened, otherwise = action_story.tell(row, now=now)
        told = {
            "title": row.action,
            "state": action_story.state_of(row, now=now),
            "happened": happened,
            "otherwise": otherwise,
            "facts": action_story.facts(row, now=now),
            "steps": _offers(row, request.user, forms or {}) if row.state == "held" else [],
            "lines": journal.lines(journal.entries(trail.action_subject(row.slot)), now=now),
            "loaded": clock(now, now=now),
        }
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "is_nav_sidebar_enabled": False,
            "list_url": reverse(_LIST),
            **told,
            **more,
        }
        return TemplateResponse(request, "admin/idempotency/key.html", context, status=status)


def _offers(row: GatedAction, user: Any, forms: dict[str, PlainForm]) -> list[dict[str, Any]]:
    return [
        {
            "step": step,
            "blocked": step.blocked(user),
            "form": forms.get(step.name) or step.fresh(row),
            "url": reverse(f"admin:idempotency_gatedaction_{step.name}", args=[row.pk]),
        }
        for step in STEPS.values()
    ]


def _is_own(entry: Any, step: Step, user: Any) -> bool:
    mine = entry.actor == people.named(user) and entry.action == step.done
    return bool(mine and timezone.now() - entry.at < _SECOND_CLICK)


def _sentence(error: Exception) -> str:
    if isinstance(error, OperationalError):
        return "Somebody else is changing this very action. Wait a moment and try again."
    return str(error)


def _status(error: Exception) -> int:
    """Not allowed is 403, a lock that was not free 503, all else a conflict with how it stands."""
    if isinstance(error, OperationalError):
        return 503
    return 403 if isinstance(error, errors.NotPermitted) else 409
