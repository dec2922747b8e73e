"""The ways to narrow the queue: by case, age and owner (connector and currency are stock filters)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from fulfilment.admin.words import BADGES
from fulfilment.models import Case


@dataclass(frozen=True, slots=True)
class Bucket:
    """An age from `at_least` up to, not including, `below`; None is for ever."""

    key: str
    label: str
    at_least: timedelta
    below: timedelta | None

    def condition(self, now: datetime, *, field: str = "created_at") -> Q:
        """Rows of this age: of payments by the moment somebody asked, else by `field`."""
        older = Q((f"{field}__lte", now - self.at_least))
        return older if self.below is None else older & Q((f"{field}__gt", now - self.below))


_HOUR = timedelta(hours=1)
BUCKETS = (
    Bucket("hour", "under 1 hour", timedelta(0), _HOUR),
    Bucket("day", "1 to 24 hours", _HOUR, 24 * _HOUR),
    Bucket("three-days", "1 to 3 days", 24 * _HOUR, 72 * _HOUR),
    Bucket("older", "over 3 days", 72 * _HOUR, None),
)


def bucket_of(age: timedelta) -> Bucket:
    """The bucket that an age falls into; a moment in the future counts as new."""
    return next((b for b in reversed(BUCKETS) if age >= b.at_least), BUCKETS[0])


def open_case() -> Exists:
    """Does a person work on this row?"""
    return Exists(Case.objects.filter(fulfilment_id=OuterRef("pk"), closed_at__isnull=True))


class AgeFilter(admin.SimpleListFilter):
    title = "age"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [(bucket.key, bucket.label) for bucket in BUCKETS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = next((b for b in BUCKETS if b.key == self.value()), None)
        return queryset if chosen is None else queryset.filter(chosen.condition(timezone.now()))


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [(state.value, badge.text) for state, badge in BADGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(state=self.value()) if self.value() else queryset


class CaseFilter(admin.SimpleListFilter):
    title = "case"
    parameter_name = "case"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [("open", "open: a person decides"), ("none", "none")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "open":
                return queryset.filter(open_case())
            case "none":
                return queryset.filter(~open_case())
            case _:
                return queryset


class OwnerFilter(admin.SimpleListFilter):
    title = "owner"
    parameter_name = "owner"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        cases = Case.objects.filter(closed_at__isnull=True).select_related("owner")
        owners = {case.owner for case in cases if case.owner and case.owner != request.user}
        names = sorted((owner.get_username(), str(owner.pk)) for owner in owners)
        return [("me", "me"), ("nobody", "nobody"), *((pk, name) for name, pk in names)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        cases = Case.objects.filter(fulfilment_id=OuterRef("pk"), closed_at__isnull=True)
        owner: Any = request.user.pk if self.value() == "me" else self.value()
        match self.value():
            case None:
                return queryset
            case "nobody":
                return queryset.filter(~Exists(cases.filter(owner__isnull=False)))
            case value if value in dict(self.lookup_choices):
                return queryset.filter(Exists(cases.filter(owner_id=owner)))
            case _:  # a colleague who owns nothing any more, or a mistyped address
                return queryset.none()
