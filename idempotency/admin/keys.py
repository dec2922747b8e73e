"""The keys, to look at: what a caller asks about and what staff may see of it, never a body."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from idempotency.models import KeyListing

if TYPE_CHECKING:
    _Base = admin.ModelAdmin[KeyListing]
else:
    _Base = admin.ModelAdmin


@admin.register(KeyListing)
class KeyListingAdmin(_Base):
    """Read-only; found by user and by key, both through the table's primary key where possible."""

    list_display = ("key", "user_id", "operation", "state", "response_code", "created_at")
    search_fields = ("key", "user_id")
    search_help_text = "A whole key, a user's UUID, or both."
    show_full_result_count = False  # counting a large table costs more than the page
    ordering = ("-created_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only requests make keys."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: KeyListing | None = None) -> bool:
        """A stored answer is what a client was told."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: KeyListing | None = None) -> bool:
        """A deleted key would run again."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[KeyListing], search_term: str
    ) -> tuple[QuerySet[KeyListing], bool]:
        """Every word narrows: it is the whole key, or the user."""
        for word in search_term.split():
            queryset = queryset.filter(_names(word))
        return queryset, False

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: Any = None
    ) -> KeyListing | None:
        """The text key taken apart again, so that the table's primary key finds the row."""
        user, _, key = object_id.partition(":")
        scope = _uuid(user)
        return self.get_queryset(request).filter(user_id=scope, key=key).first() if scope else None


def _names(word: str) -> Q:
    scope = _uuid(word)
    return Q(key=word) if scope is None else Q(key=word) | Q(user_id=scope)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
