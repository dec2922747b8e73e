"""Admin pages that show and change nothing, for anybody, superusers included."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

if TYPE_CHECKING:  # generic in the type stubs only
    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin


class ReadOnlyAdmin(Base):
    """View permission shows; nothing adds, edits, deletes or runs over a selection."""

    actions: Any = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Rows are made by the flows, never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A verdict has a form of its own; a plain edit would leave no trace."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What happened cannot be unhappened."""
        return False
