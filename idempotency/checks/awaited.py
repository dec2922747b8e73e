"""Async handlers that nobody would await, or that Django would refuse at the first request."""

from collections.abc import Iterator, Sequence
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.core.checks import CheckMessage, Error
from django.db import connections

from idempotency import guarded
from idempotency.decorators import guard_of


def check_awaited(**_: object) -> Sequence[CheckMessage]:
    """Every guarded async handler stands where it is awaited, and outside ATOMIC_REQUESTS."""
    return [error for callback in guarded.callbacks() for error in _mistakes(callback)]


def _mistakes(callback: Any) -> Iterator[CheckMessage]:
    guards = [guard_of(h) for h in guarded.handlers(callback) if iscoroutinefunction(h)]
    operations = ", ".join(guard.operation for guard in guards if guard)
    if operations and hasattr(guarded.class_of(callback), "initialize_request"):
        yield Error(
            f"REST framework awaits no handler, and {operations} is async.",
            hint="Write it with `def`, or as a method of Django's View.",
            id="idempotency.E008",
        )
    elif operations and (inside := _atomic(callback)):
        yield Error(
            f"ATOMIC_REQUESTS is on for {inside!r}, and {operations} is async: Django answers each "
            "request to it with a RuntimeError.",
            hint="Put @method_decorator(transaction.non_atomic_requests(using=...), name='dispatch') "
            "on the class, once for each such database; the guard needs no transaction around it.",
            id="idempotency.E005",
        )


def _atomic(callback: Any) -> str | None:
    exempt = getattr(callback, "_non_atomic_requests", ())
    on = [alias for alias, options in connections.settings.items() if options["ATOMIC_REQUESTS"]]
    return next((alias for alias in on if alias not in exempt), None)
