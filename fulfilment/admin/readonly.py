"""Admin pages that show and change nothing, for anybody, superusers included."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path

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


class PageAdmin(ReadOnlyAdmin):
    """A page of its own for each row, which tells its story, and buttons that are POSTs of their own."""

    trail = "timeline"  # where on the page stands what happened

    def visible(self, request: HttpRequest, object_id: object) -> Any:
        """The row, for whoever may see it; 403 and 404 otherwise."""
        raise NotImplementedError

    def address(self, row: Any, /) -> str:
        """Where its page lives."""
        raise NotImplementedError

    def page(self, request: HttpRequest, row: Any, /) -> HttpResponse:
        """The page as of now."""
        raise NotImplementedError

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Shows. A POST to it, from whoever made it by hand, changes nothing."""
        row = self.visible(request, object_id)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return self.page(request, row)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The history stands on the page itself."""
        return HttpResponseRedirect(
            self.address(self.visible(request, object_id)) + f"#{self.trail}"
        )

    def buttons(
        self, steps: Iterable[Any], *, act: Callable[..., HttpResponse]
    ) -> list[URLPattern]:
        """One address per button. Each owns its transactions, whatever the project does."""
        return [
            path(
                f"<int:pk>/{step.name}/",
                transaction.non_atomic_requests(
                    self.admin_site.admin_view(partial(act, step=step))
                ),
                name=f"fulfilment_{self.opts.model_name}_{step.name}",
            )
            for step in steps
        ]
