"""One call of a guarded handler, as plain Django sees it; `drf.py` adds REST framework's view of it."""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.core.exceptions import (
    BadRequest,
    ImproperlyConfigured,
    PermissionDenied,
    SuspiciousOperation,
    ValidationError,
)
from django.core.handlers.exception import response_for_exception
from django.http import Http404, HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase

from idempotency.claims import Claim

# Raised by a handler, these say that the input could not be read: nothing was decided.
UNREADABLE = (BadRequest, SuspiciousOperation, MultiPartParserError, ValidationError)


@dataclass(slots=True)
class Call:
    """A handler with its arguments bound, and what renders its answers and exceptions."""

    request: Any  # what the handler was given: Django's request, or REST framework's around it
    handler: Callable[[], Any]  # a response, or of an async handler something to await
    view: Any = None  # the view instance, where there is one

    unreadable: tuple[type[Exception], ...] = UNREADABLE
    began: float = field(default_factory=time.monotonic)  # before the guard has read anything

    @property
    def http(self) -> HttpRequest:
        """Django's own request."""
        request: HttpRequest = self.request
        return request

    def bind(self, claim: Claim | None) -> None:
        """Show the claim to the handler as `request.idempotency`."""
        self.request.idempotency = claim

    def run(
        self, ended: Callable[[HttpResponseBase], HttpResponseBase] | None = None
    ) -> HttpResponseBase:
        """The handler's answer with its final bytes; raises whatever the handler raises.

        `ended` is what the claim still does with the handler's answer before it is rendered.
        """
        response: HttpResponseBase = self.handler()
        return self.rendered(ended(response) if ended else response)

    def explain(self, error: Exception) -> HttpResponseBase:
        """The answer for an exception that the view knows; raises the exception again if not."""
        if isinstance(error, Http404 | PermissionDenied):
            return response_for_exception(self.http, error)
        raise error

    def rendered(self, response: HttpResponseBase) -> HttpResponseBase:
        """The response with its bytes: a template response renders late, and must do so once."""
        if not isinstance(response, HttpResponseBase):
            raise TypeError(_no_response(response))
        render = getattr(response, "render", None)
        return response if render is None else render()


def of(arguments: tuple[Any, ...], keywords: dict[str, Any], handler: Callable[..., Any]) -> Call:
    """The call of a function `(request, …)` or a method `(self, request, …)`, in either framework."""
    view, request = _apart(arguments, keywords)

    bound = partial(handler, *arguments, **keywords)
    if hasattr(request, "parser_context"):
        if inspect.iscoroutinefunction(handler):
            raise ImproperlyConfigured(
                f"REST framework awaits no handler, and {handler.__qualname__} is async: write it "
                "with `def`, or as a view of Django's."
            )
        from idempotency.drf import RestCall  # the base needs no REST framework

        return RestCall(request, bound, request.parser_context["view"])
    return Call(request, bound, view)


def _apart(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
    """The view, if the handler is its method, and the request, which a subclass may pass by name."""
    if arguments and _is_request(arguments[0]):
        return None, arguments[0]
    view = arguments[0] if arguments else None
    return view, arguments[1] if len(arguments) > 1 else keywords["request"]


def _no_response(given: object) -> str:
    if inspect.iscoroutine(given):
        given.close()
        return "The guarded handler is async below a decorator that hides it: nobody awaits it."
    return f"The guarded handler returned no HttpResponse but {type(given).__name__}."


def _is_request(candidate: Any) -> bool:
    return isinstance(candidate, HttpRequest) or hasattr(candidate, "parser_context")
