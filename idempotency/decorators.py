"""`@idempotent`: a handler that applies a request once, whoever sends it again."""

import functools
import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal, TypeVar

from asgiref.sync import markcoroutinefunction
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.utils.decorators import method_decorator

from idempotency import awaiting, calls, operations, serving
from idempotency.contract import Progress
from idempotency.operations import Terms
from idempotency.recovery import Hook
from idempotency.serving import Guard

F = TypeVar("F", bound=Callable[..., Any])


def idempotent(
    mode: Literal["atomic", "leased"] = "atomic",
    *,
    required: bool = True,
    operation: str | None = None,
    progress: str | Callable[..., Progress] | None = None,
    lease: timedelta | None = None,
    deadline: timedelta | None = None,
    recover: str | Hook | None = None,
) -> Callable[[F], F]:
    """Guard a handler with the client's Idempotency-Key.

    For methods of REST framework's views and of Django's, for `@api_view` functions (below that
    decorator) and for plain views. `operation` names it in the record; the default is its dotted
    path. With `required=False` a request without a key runs unguarded, counted for a roll-out to
    clients that send none yet; one that has a key is guarded as everywhere.

    `atomic`: the handler touches only the database, and everything it writes commits together with
    its stored answer. `progress` names the method (or is the function) `(request, record) ->
    Progress` that describes an operation whose outcome the handler deferred.

    `leased`: the handler calls another system, outside any transaction, between `sending()` and
    `settling()` of its `request.idempotency` (a `LeasedClaim`). It owns the key for `lease`, and each
    call takes `deadline` at most; both have defaults in IDEMPOTENCY. `recover` is the function
    `(record) -> Done | NotDone | Unknown`, or the name of such a method of the view, that asks what
    became of a call whose end nobody saw. It gets no request, for the sweep calls it, too. An
    `async def` handler (of Django's views: REST framework awaits none) is always leased; it calls
    `asending()` and returns `settle_with(write)`, and its `recover` may be async as well.

    Raises ImproperlyConfigured for a combination that cannot be guarded.
    """
    _refuse_combination(mode, required=required, recover=recover, given=(lease, deadline))

    def decorate(handler: F) -> F:
        _refuse_unguardable(handler, mode)
        name = operation or f"{handler.__module__}.{handler.__qualname__}"
        terms = None if recover is None else Terms(handler, recover, lease, deadline)
        guard = Guard(name, required, progress, terms)
        if terms is not None:
            operations.register(name, terms)

        return _guarded(handler, guard)

    return decorate


def guard_of(handler: object) -> Guard | None:
    """How a handler is guarded; None if it is not."""
    guard = getattr(handler, "idempotency_guard", None)
    return guard if isinstance(guard, Guard) else None


def _guarded(handler: F, guard: Guard) -> F:
    is_async = inspect.iscoroutinefunction(handler)
    serve = awaiting.serve if is_async else serving.serve

    @functools.wraps(handler)
    def guarded(*arguments: Any, **keywords: Any) -> Any:
        return serve(calls.of(arguments, keywords, handler), guard)

    # Found on whatever functools.wraps makes of it: decorators above may hide the function.
    guarded.idempotency_guard = guard  # type: ignore[attr-defined]
    if is_async:
        markcoroutinefunction(guarded)
        for alias in connections:  # Django has no transaction for what is awaited, and says so
            transaction.non_atomic_requests(using=alias)(guarded)
    return guarded  # type: ignore[return-value]


def _refuse_combination(
    mode: str, *, required: bool, recover: object, given: tuple[object, ...]
) -> None:
    if mode not in {"atomic", "leased"}:
        raise ImproperlyConfigured(f"@idempotent has no mode {mode!r}.")
    if mode == "leased" and recover is None:
        raise ImproperlyConfigured(
            "A leased handler needs recover=: somebody must be able to ask what became of its call. "
            "Where nobody can, let it return Unknown()."
        )
    if mode == "leased" and not required:
        raise ImproperlyConfigured(
            "A leased handler needs a key: without one nobody could ask again after a lost answer."
        )
    if mode == "atomic" and (recover, *given) != (None, None, None):
        raise ImproperlyConfigured("lease=, deadline= and recover= belong to mode='leased'.")


def _refuse_unguardable(handler: Callable[..., Any], mode: str) -> None:
    if inspect.iscoroutinefunction(handler) and mode == "atomic":
        raise ImproperlyConfigured(
            "An async handler needs mode='leased': no transaction can stay open while it awaits."
        )
    if mode == "leased" and handler.__module__ == method_decorator.__module__:
        raise ImproperlyConfigured(
            "Put a leased guard on the method itself: method_decorator() makes it only when a "
            "request comes, so the process that sweeps would not know whom to ask."
        )
    if hasattr(handler, "cls") or hasattr(handler, "view_class"):
        raise ImproperlyConfigured(
            "Put @idempotent below @api_view, or on the method of a class-based view: "
            "above it, nobody is authenticated yet."
        )
