"""`@idempotent`: a handler that applies a request once, whoever sends it again."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.http.response import HttpResponseBase

from idempotency import atomic, cache, calls, claims, delivery, errors, responses
from idempotency.contract import Progress

F = TypeVar("F", bound=Callable[..., Any])

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # RFC 9110, 9.2.1: they ignore the header


@dataclass(frozen=True, slots=True)
class Guard:
    """How one view is guarded."""

    operation: str
    required: bool
    progress: str | Callable[..., Progress] | None


def idempotent(
    mode: Literal["atomic", "leased"] = "atomic",
    *,
    key: Literal["required", "optional"] = "required",
    operation: str | None = None,
    progress: str | Callable[..., Progress] | None = None,
) -> Callable[[F], F]:
    """Guard a handler with the client's Idempotency-Key.

    For methods of REST framework's views and of Django's, for `@api_view` functions (below that
    decorator) and for plain views. `atomic`: the handler touches only the database, and everything
    it writes commits together with its stored answer. `operation` names it in the record; the
    default is its dotted path. `progress` names the method (or is the function) `(request, record)
    -> Progress` that describes an operation whose outcome the handler deferred.
    Raises ImproperlyConfigured for a combination that cannot be guarded.
    """
    if mode != "atomic" or key not in {"required", "optional"}:
        raise ImproperlyConfigured(f"@idempotent(mode={mode!r}, key={key!r}) is not built yet.")

    def decorate(handler: F) -> F:
        _refuse_unguardable(handler)
        name = operation or f"{handler.__module__}.{handler.__qualname__}"
        guard = Guard(name, key == "required", progress)

        @functools.wraps(handler)
        def guarded(*arguments: Any, **keywords: Any) -> Any:
            return serve(calls.of(arguments, keywords, handler), guard)

        return guarded  # type: ignore[return-value]

    return decorate


def serve(call: calls.Call, guard: Guard) -> HttpResponseBase:
    """Read key → fingerprint → cached answer? → claim → run → settle."""
    if call.http.method in _SAFE:
        return call.handler()
    try:
        claim = claims.read(
            call.request, http=call.http, operation=guard.operation, required=guard.required
        )
    except errors.Stated as refused:
        return responses.respond(refused.answer())
    slot = None if claim is None else cache.slot(claim)
    decided = slot.get(claim.fingerprint) if slot and claim else None
    if decided is not None:
        return delivery.send(decided, call=call, claim=claim, progress=guard.progress)
    return delivery.send(
        atomic.run(call, claim), call=call, claim=claim, progress=guard.progress, slot=slot
    )


def _refuse_unguardable(handler: Callable[..., Any]) -> None:
    if inspect.iscoroutinefunction(handler):
        raise ImproperlyConfigured("An async view needs mode='leased', which is not built yet.")
    if hasattr(handler, "cls") or hasattr(handler, "view_class"):
        raise ImproperlyConfigured(
            "Put @idempotent below @api_view, or on the method of a class-based view: "
            "above it, nobody is authenticated yet."
        )
