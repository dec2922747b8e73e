"""The page of one key, and its buttons: each a POST of its own, which its service checks again."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from idempotency import errors, store
from idempotency.admin import page, refusals, stored
from idempotency.admin.forms import OpenForm, PlainForm, SeenForm
from idempotency.admin.readonly import ReadOnly
from idempotency.admin.steps import STEPS, Step
from idempotency.held import Seen
from idempotency.models import KeyListing

if TYPE_CHECKING:
    _Base = admin.ModelAdmin[KeyListing]
else:
    _Base = admin.ModelAdmin


class KeyPages(ReadOnly, _Base):
    """What is known of a key, what happens by itself, and what may be done where it is held."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[KeyListing]:
        """Where the keys are."""
        return super().get_queryset(request).using(store.alias(None))

    def get_urls(self) -> list[URLPattern]:
        """One address per button. Each owns its transactions, whatever the project does."""
        views: dict[str, Callable[..., HttpResponse]] = {
            name: partial(self.act, step=step) for name, step in STEPS.items()
        }
        outside = transaction.non_atomic_requests(using=store.alias(None))
        return [
            *(
                path(
                    f"<path:object_id>/{name}/",
                    outside(self.admin_site.admin_view(view)),
                    name=f"idempotency_keylisting_{name}",
                )
                for name, view in {**views, "open": self.open}.items()
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
        try:
            return self.page(request, self.visible(request, object_id))
        except Http404:  # the stock answer: a message above the list of pages
            return super().change_view(request, object_id, form_url, extra_context)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What people did stands on the page itself."""
        return HttpResponseRedirect("../change/#trail")

    def act(self, request: HttpRequest, object_id: str, *, step: Step) -> HttpResponse:
        """Runs the step once and redirects, so that a reload repeats nothing."""
        row = self.visible(request, object_id)
        back = HttpResponseRedirect(page.address_of(row, "change"))
        if request.method != "POST":
            return back  # a login in between ends here with GET
        form = step.form(request.POST, auto_id=f"{step.name}_%s")
        if not form.is_valid():
            problems = [refusals.incomplete(step.name)]
            return self.page(request, row, status=400, problems=problems, forms={step.name: form})
        try:
            level, said = step.run(_seen(row, form), user=request.user, form=form)
        except (errors.IdempotencyError, OperationalError) as error:
            return self.refused(request, object_id, step=step, error=error, form=form)
        messages.add_message(request, level, said)
        return back

    def refused(
        self, request: HttpRequest, object_id: str, *, step: Step, error: Exception, form: SeenForm
    ) -> HttpResponse:
        """Nothing was done: the page as it is now, with who was faster, and what was typed."""
        row = self.visible(request, object_id)
        why = refusals.explain(row, error, step=step, user=request.user, form=form)
        if why.is_echo:
            messages.info(request, why.sentence)
            return HttpResponseRedirect(page.address_of(row, "change"))
        return self.page(
            request, row, status=why.status, problems=[why.sentence], unsaved=refusals.unsaved(form)
        )

    def open(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The stored answer, for whoever may see it and says why: that is on record."""
        row = self.visible(request, object_id)
        if request.method != "POST":
            return HttpResponseRedirect(page.address_of(row, "change"))
        form = OpenForm(request.POST, auto_id="open_%s")
        if not form.is_valid():
            problems = [refusals.incomplete("open")]
            return self.page(request, row, status=400, problems=problems, forms={"open": form})
        try:
            opened = stored.open_answer(row, user=request.user, reason=form.cleaned_data["reason"])
        except errors.NotPermitted as error:
            raise PermissionDenied(str(error)) from error
        return self.page(request, row, opened=opened)

    def visible(self, request: HttpRequest, object_id: str) -> KeyListing:
        """The row, for whoever may see it. 403 and 404 otherwise."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404("There is no such key, or not any more.")
        return row

    def page(
        self,
        request: HttpRequest,
        row: KeyListing,
        *,
        status: int = 200,
        forms: dict[str, PlainForm] | None = None,
        **more: Any,
    ) -> HttpResponse:
        """The page as of now; `more` goes into its context."""
        told = page.context(row, user=request.user, now=timezone.now(), forms=forms or {})
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "is_nav_sidebar_enabled": False,
            "list_url": reverse("admin:idempotency_keylisting_changelist"),
            **told,
            **more,
        }
        return TemplateResponse(request, "admin/idempotency/key.html", context, status=status)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: Any = None
    ) -> KeyListing | None:
        """The text key taken apart again, so that the table's primary key finds the row."""
        user, _, key = object_id.partition(":")
        scope = uuid_of(user)
        return self.get_queryset(request).filter(user_id=scope, key=key).first() if scope else None


def _seen(row: KeyListing, form: SeenForm) -> Seen:
    given = form.cleaned_data
    return Seen(row.user_id, row.key, given["held_at"], given["next_check_at"])


def uuid_of(text: str) -> UUID | None:
    """The UUID that a text is, or None."""
    try:
        return UUID(text)
    except ValueError:
        return None
