"""The ways to narrow the list of provider events; without a choice, those that need a look."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from fulfilment.admin.event_words import BADGES
from fulfilment.admin.filters import BUCKETS
from fulfilment.models import EventStatus, ProviderEvent

NEED_A_LOOK = (EventStatus.PARKED, EventStatus.DEAD)
# What is not applied, ignored or set aside: a handful among millions, which an index has.
OPEN = (*NEED_A_LOOK, EventStatus.RECEIVED)


class StatusFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [*((status.value, badge.text) for status, badge in BADGES.items()), ("all", "All")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """No choice is not "All" here."""
        first, *others = super().choices(changelist)
        yield {**first, "display": "Parked or given up"}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "all":
                return queryset
            case value if value in EventStatus.values:
                return queryset.filter(status=value)
            case _:
                return queryset.filter(status__in=NEED_A_LOOK)


class OpenValues(admin.SimpleListFilter):
    """The values that a column has among the events that are not done with."""

    column = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        found = ProviderEvent.objects.filter(status__in=OPEN).exclude(**{self.column: ""})
        values = found.order_by(self.column).values_list(self.column, flat=True).distinct()
        return [(value, value) for value in values[:50]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


class ProviderFilter(OpenValues):
    title = parameter_name = column = "provider"


class TypeFilter(OpenValues):
    title = parameter_name = column = "type"


class ReasonFilter(OpenValues):
    title = parameter_name = column = "reason"


class AgeFilter(admin.SimpleListFilter):
    title = "age"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [(bucket.key, bucket.label) for bucket in BUCKETS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = next((b for b in BUCKETS if b.key == self.value()), None)
        if chosen is None:
            return queryset
        return queryset.filter(chosen.condition(timezone.now(), field="received_at"))
