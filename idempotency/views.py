"""Pages for people whose program got a problem: what it means and what to do next."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from idempotency import problems

_RETRY = {
    "same_key": "Yes: the same request with the same key.",
    "new_key": "Not with this key. Correct the request and give it a new one.",
    "after": "Later: after what stands below.",
    "never": "Not as it is: it would be refused again.",
}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every problem this service can answer with."""
    return render(
        request, "idempotency/problems.html", {"problems": problems.registered().values()}
    )


@require_safe
def explain(request: HttpRequest, code: str) -> HttpResponse:
    """One problem; the `type` of its answers points here."""
    kind = problems.explained(code)
    if kind is None:
        raise Http404(f"There is no problem {code!r}.")
    words = {"problem": kind, "retry": _RETRY.get(kind.retry, kind.retry)}
    return render(request, "idempotency/problem.html", words)
