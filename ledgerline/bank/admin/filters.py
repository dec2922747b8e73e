"""Ways to narrow the books, in the words of their columns."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from fulfilment.admin.words import Badge


def by_state(words: Mapping[Any, Badge]) -> type[admin.SimpleListFilter]:
    """By state, named as the column names it."""
    return _choice(
        "state", {str(state): (word.text, {"state": state}) for state, word in words.items()}
    )


def _choice(
    name: str, choices: Mapping[str, tuple[str, Mapping[str, Any]]], *, title: str = ""
) -> type[admin.SimpleListFilter]:
    class Chosen(admin.SimpleListFilter):
        parameter_name = name

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, label) for value, (label, _) in choices.items()]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            chosen = choices.get(self.value() or "")
            return queryset.filter(**chosen[1]) if chosen else queryset

    Chosen.title = title or name
    return Chosen


Frozen = _choice(
    "frozen",
    {
        "yes": ("frozen", {"frozen_at__isnull": False}),
        "no": ("not frozen", {"frozen_at__isnull": True}),
    },
)
Whose = _choice(
    "payee",
    {"theirs": ("at another bank", {"to_bank__gt": ""}), "ours": ("at this bank", {"to_bank": ""})},
)
