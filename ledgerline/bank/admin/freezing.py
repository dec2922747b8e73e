"""The pages on which staff freeze and release: the consequence first, then a reason, then the button."""

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from idempotency import gate
from idempotency.redaction import mask_text
from idempotency.times import when
from ledgerline.bank import errors, freezes
from ledgerline.bank.admin.freeze_steps import STEPS, ReasonForm, Step, step_of
from ledgerline.bank.admin.readonly import Shown
from ledgerline.bank.freezes import Outcome, Subject
from ledgerline.bank.models import FreezeChange


class Freezable(Shown):
    """What an account and a customer have in common: they can be frozen and released."""

    @admin.display(description="frozen and released")
    def freezes(self, subject: Subject) -> SafeString:
        """The journal, newest first."""
        rows = subject.freeze_changes.order_by("-pk")[:20]
        lines = format_html_join(SafeString("<br>"), "{}", ((_told(change),) for change in rows))
        return lines or SafeString("never")

    def get_urls(self) -> list[URLPattern]:
        """One address per button."""
        steps = [
            path(
                f"<path:object_id>/{step.name}/",
                self.admin_site.admin_view(partial(self.step, step=step)),
                name=f"bank_{self.opts.model_name}_{step.name}",
            )
            for step in STEPS.values()
        ]
        return [*steps, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page with the one button that applies, or with why it cannot be pressed."""
        subject = self.get_object(request, object_id)
        known: dict[str, Any] = {}
        if subject is not None:
            step = step_of(subject)
            blocked = step.blocked(subject, request.user)
            known = {"step": step, "step_url": f"../{step.name}/", "blocked": blocked}
        return super().change_view(request, object_id, form_url, (extra_context or {}) | known)

    def step(self, request: HttpRequest, object_id: str, *, step: Step) -> HttpResponse:
        """GET asks, POST does it once and redirects, so that a reload repeats nothing."""
        subject = self.get_object(request, object_id)
        if subject is None:
            raise Http404
        if not (self.has_view_permission(request) and request.user.has_perm(step.permission)):
            raise PermissionDenied(step.blocked(subject, request.user))
        if request.method != "POST":
            return self.ask(request, subject, step=step)
        form = ReasonForm(request.POST)
        if not form.is_valid():
            return self.ask(request, subject, step=step, form=form, status=400)
        try:
            outcome = step.run(subject, staff=request.user, **form.cleaned_data)
        except (errors.FreezeRefused, errors.FreezeOvertaken, gate.InProgress) as error:
            return self.ask(request, subject, step=step, form=form, status=409, problem=str(error))
        except OperationalError:
            busy = "A transfer is being made at this very moment. Try again."
            return self.ask(request, subject, step=step, form=form, status=503, problem=busy)
        messages.success(request, _said(outcome, step))
        return HttpResponseRedirect(self._address(subject))

    def ask(
        self,
        request: HttpRequest,
        subject: Subject,
        *,
        step: Step,
        form: ReasonForm | None = None,
        status: int = 200,
        problem: str = "",
    ) -> HttpResponse:
        """What it does, and the reason that is missing. After a refusal: how it stands now."""
        last = freezes.last_change(subject)
        seen = {"seen": last.pk if last else 0}
        if problem and form is not None:  # what was decided on is not so any more
            form = ReasonForm({"reason": form.cleaned_data["reason"], **seen})
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "is_nav_sidebar_enabled": False,
            "subject": self.title_of(subject),
            "title": f"{step.label} {self.opts.verbose_name} {subject}",
            "step": step,
            "form": form or ReasonForm(initial=seen),
            "problem": problem,
            "last": _told(last) if last else "",
            "back": self._address(subject),
        }
        return TemplateResponse(request, "admin/bank/freeze.html", context, status=status)

    def _address(self, subject: Subject) -> str:
        return reverse(f"admin:bank_{self.opts.model_name}_change", args=[subject.pk])


def _told(change: FreezeChange) -> SafeString:
    return format_html(
        "{} at {} by {}: {}",
        "frozen" if change.frozen else "released",
        when(change.changed_at, now=timezone.now()),
        change.actor.removeprefix("staff:"),
        mask_text(change.reason),
    )


def _said(outcome: Outcome, step: Step) -> SafeString:
    if outcome.changed:
        return format_html("Done: it is {}.", step.done)
    if outcome.last is None:
        return format_html("It was {} already; nothing was changed.", step.done)
    return format_html("Nothing was changed. It is {} already: {}", step.done, _told(outcome.last))
