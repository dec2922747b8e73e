"""Async handlers that nobody would await, or that Django would refuse at the first request."""

from collections.abc import Iterator, Sequence
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.core.checks import CheckMessage, Error
from django.db import connections

from idempotency import routes
from idempotency.routes import Guarded


def check_awaited(**_: object) -> Sequence[CheckMessage]:
    """Every guarded async handler stands where it is awaited, and outside ATOMIC_REQUESTS."""
    awaited = [each for each in routes.guarded() if iscoroutinefunction(each.outermost)]
    views = {each.route: each for each in awaited}  # one message for all methods of a view
    return [error for each in views.values() for error in _mistakes(each)]


def _mistakes(guarded: Guarded) -> Iterator[CheckMessage]:
    operation = guarded.guard.operation
    if hasattr(guarded.view, "initialize_request"):
        yield Error(
            f"REST framework awaits no handler, and {operation} is async.",
            hint="Write it with `def`, or as a method of Django's View.",
            id="idempotency.E008",
        )
    elif inside := _atomic(guarded.callback):
        yield Error(
            f"ATOMIC_REQUESTS is on for {inside!r}, and {operation} is async: Django answers each "
            "request to it with a RuntimeError.",
            hint="Put @method_decorator(transaction.non_atomic_requests(using=...), name='dispatch') "
            "on the class, once for each such database; the guard needs no transaction around it.",
            id="idempotency.E005",
        )


def _atomic(callback: Any) -> str | None:
    exempt = getattr(callback, "_non_atomic_requests", ())
    on = [alias for alias, options in connections.settings.items() if options["ATOMIC_REQUESTS"]]
    return next((alias for alias in on if alias not in exempt), None)
