"""The guides: pages for those who build on this, each with samples that the tests run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from idempotency import conf, gate
from idempotency.audit import checks, steps
from ledgerline import personal, timeouts


@dataclass(frozen=True, slots=True)
class Guide:
    """One page: its name in the address, its title, what it tells in a line, and what it counts."""

    name: str
    title: str
    tells: str
    words: Callable[[], Mapping[str, Any]] = dict


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """All guides."""
    return render(request, "guides/index.html", {"guides": GUIDES})


@require_safe
def show(request: HttpRequest, name: str) -> HttpResponse:
    """One guide."""
    guide = next((guide for guide in GUIDES if guide.name == name), None)
    if guide is None:
        raise Http404(f"There is no guide {name!r}.")
    words = {"guide": guide, "guides": GUIDES, **guide.words()}
    return render(request, f"guides/{name}.html", words)


def _kept() -> Mapping[str, Any]:
    limits = conf.current()
    return {
        "retention": limits.retention,
        "cache_ttl": limits.cache_ttl,
        "batch": limits.retention_batch,
        "kept": personal.KEPT,
    }


def _audit() -> Mapping[str, Any]:
    return {
        "checks": len(checks.CHECKS),
        "most_requests": steps.most_requests(),
        "kept_effects": steps.effects_if_kept(),
        "worst_effects": steps.effects_at_worst(),
    }


GUIDES = (
    Guide(
        "view",
        "Guard your view",
        "One decorator: a request that is sent again is applied once and gets its first answer.",
    ),
    Guide(
        "action",
        "Guard your action",
        "Tasks, commands and buttons that must not happen twice either.",
        lambda: {"most_items": gate.MOST_ITEMS},
    ),
    Guide(
        "timeouts",
        "Time-outs",
        "Every one of them, from outside in, and who enforces it.",
        lambda: {"waits": timeouts.waits()},
    ),
    Guide("promises", "What is promised, and what is not", "And what that rests on."),
    Guide(
        "retention",
        "How long an answer is kept",
        "And what a retry gets that comes later.",
        _kept,
    ),
    Guide("erasure", "Erase a customer", "What can go, what has to stay, and how.", _kept),
    Guide(
        "audit",
        "Audit anyone's API",
        "One command finds out what an endpoint really does.",
        _audit,
    ),
    Guide("nulls", "Find the holes that NULL leaves", "Unique constraints that are none."),
)

app_name = "guides"

urlpatterns = [
    path("", index, name="index"),
    path("<slug:name>/", show, name="guide"),
]
