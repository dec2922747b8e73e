"""The ways to narrow the list of keys: by state, held first, and by when they were first used."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from idempotency.admin.states import STATES

_AGES = {
    "hour": ("in the last hour", timedelta(hours=1)),
    "day": ("in the last 24 hours", timedelta(days=1)),
    "week": ("in the last 7 days", timedelta(days=7)),
}
_OLDER = timedelta(days=30)


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        held = model_admin.held().count()  # a handful among millions: the index has them
        yield "held", f"{STATES['held']} ({held})"
        yield from ((name, str(state)) for name, state in STATES.items() if name != "held")

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        state = STATES.get(self.value() or "")
        return queryset if state is None else queryset.filter(state.rows)


class AgeFilter(admin.SimpleListFilter):
    title = "first used"
    parameter_name = "used"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [
            *((name, label) for name, (label, _) in _AGES.items()),
            ("older", "30 days ago and before"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        now = timezone.now()
        match self.value():
            case "older":
                return queryset.filter(created_at__lte=now - _OLDER)
            case name if name in _AGES:
                return queryset.filter(created_at__gt=now - _AGES[name][1])
            case _:
                return queryset
