"""What every page of the books has in common: it shows, and says so in words where it is empty."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

if TYPE_CHECKING:  # generic to the type checker only
    _Base = admin.ModelAdmin[Any]
else:
    _Base = admin.ModelAdmin


class Shown(_Base):
    """A list and a page per row, which only show: permission to view may be given, no other.

    `page` lists the facts of a row's page, `empty` is what a list says in which nothing fits.
    """

    change_list_template = "admin/bank/list.html"
    change_form_template = "admin/bank/page.html"
    list_per_page = 50
    actions = None
    show_full_result_count = False  # counting everything is a full scan on a grown table
    show_facets = admin.ShowFacets.NEVER
    page: Sequence[Any] = ()
    empty = "Nothing fits what you chose."

    class Media:
        css = {"all": ["fulfilment/admin.css", "ledgerline/bank.css"]}

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Methods and functions, as the columns of a list are."""
        return self.page

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """All of them."""
        return self.page

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under the name of what is in it; its columns need the width of the side bar."""
        title = str(self.opts.verbose_name_plural).capitalize()
        head = {"title": title, "empty": self.empty, "is_nav_sidebar_enabled": False}
        return super().changelist_view(request, (extra_context or {}) | head)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page under a title that says what it is about. A POST made by hand changes nothing."""
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        head = {} if row is None else {"title": self.title_of(row), "subtitle": None}
        known = (extra_context or {}) | head | {"is_nav_sidebar_enabled": False}
        return super().change_view(request, object_id, form_url, known)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Nothing is edited here, so there is no history but what the page itself tells."""
        return HttpResponseRedirect("../change/")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody may, superusers neither."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody may, superusers neither."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody may, superusers neither."""
        return False

    def title_of(self, row: Any) -> str:
        """What a row's page is about."""
        text = str(row)
        return text[:1].upper() + text[1:]
