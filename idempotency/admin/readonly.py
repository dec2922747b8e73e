"""Admin pages that show and change nothing, for anybody, superusers included."""

from typing import Any

from django.http import HttpRequest


class ReadOnly:
    """Permission to view may be given; to add, change or delete may not."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Rows are made by requests, and entries by what they are about."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A stored answer is what a client was told; what was done was done."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A deleted key would run again; a deleted entry would never have been."""
        return False
