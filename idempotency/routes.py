"""Where guarded handlers stand in the URLs: what the system checks look at. Somebody's URLs may hold
anything that can be called, so nothing is called here and nothing odd is an error."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from idempotency.decorators import guard_of
from idempotency.serving import Guard

METHODS = ("get", "head", "options", "trace", "post", "put", "patch", "delete")
_DEEPEST = 32  # decorators around one view; a chain that leads back into itself ends here


@dataclass(frozen=True, slots=True)
class Guarded:
    """One guarded handler as one route has it."""

    route: str
    callback: Any
    view: type | None  # the class of the view, if it has one
    outermost: Any  # the function on the class or in the URL, with whatever decorates the guard
    guard: Guard
    methods: frozenset[str] | None  # that reach it by this route; None: not known

    @property
    def layers(self) -> tuple[Any, ...]:
        """Every function that runs around the guard, the outermost first."""
        starts = () if self.view is None else (self.callback, getattr(self.view, "dispatch", None))
        around = [layer for start in starts for layer in _wrapped(start)]
        return (*around, *_above_guard(self.outermost))


def guarded() -> Iterator[Guarded]:
    """Every guarded handler of this project, once for each route that leads to its view."""
    if getattr(settings, "ROOT_URLCONF", None):
        for route, callback in _routes(get_resolver().url_patterns):
            yield from _on_function(route, callback)
            yield from _on_class(route, callback)


def views() -> Iterator[tuple[str, Any, type]]:
    """Every class of views of this project, as (route, callback, class) for each route to it."""
    if getattr(settings, "ROOT_URLCONF", None):
        for route, callback in _routes(get_resolver().url_patterns):
            view = _view_of(callback)
            if view is not None:
                yield route, callback, view


def handlers(callback: Any) -> tuple[str, ...]:
    """The names of the methods that this callback of a class may call."""
    actions = getattr(callback, "actions", None) or {}  # of a viewset: method -> its name
    return tuple(dict.fromkeys(actions.get(method, method) for method in METHODS))


def _routes(patterns: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = prefix + str(getattr(pattern, "pattern", ""))
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern.callback


def _on_function(route: str, callback: Any) -> Iterator[Guarded]:
    guard = guard_of(callback)
    if guard is not None and _view_of(callback) is None:
        yield Guarded(route, callback, None, callback, guard, None)


def _on_class(route: str, callback: Any) -> Iterator[Guarded]:
    view = _view_of(callback)
    if view is None:
        return
    actions = getattr(callback, "actions", None) or {}  # of a viewset: method -> its name
    reached = [(method, actions.get(method, method)) for method in METHODS]
    allowed = _allowed(callback, view)
    for name in dict.fromkeys(name for _, name in reached):
        handler = _unbound(view, name)
        guard = guard_of(handler)
        if guard is not None:
            methods = {method for method, own in reached if own == name and method in allowed}
            yield Guarded(route, callback, view, handler, guard, frozenset(methods))


def _allowed(callback: Any, view: type) -> set[str]:
    given = getattr(callback, "initkwargs", None) or getattr(callback, "view_initkwargs", None)
    names = (given or {}).get("http_method_names", getattr(view, "http_method_names", METHODS))
    return {str(name).lower() for name in names}


def _view_of(callback: Any) -> type | None:
    """The class that `as_view()` was called on; `@api_view` makes one, too."""
    view = getattr(callback, "cls", None) or getattr(callback, "view_class", None)
    return view if isinstance(view, type) else None


def _unbound(view: type, name: str) -> Any:
    """The function on the class; below `@api_view`, the one that it calls."""
    handler = inspect.getattr_static(view, name, None)
    if guard_of(handler) is None and inspect.isfunction(handler):
        return inspect.getclosurevars(handler).nonlocals.get("func")
    return handler


def _wrapped(function: Any) -> Iterator[Any]:
    for _ in range(_DEEPEST):
        if function is None:
            return
        yield function
        function = getattr(function, "__wrapped__", None)


def _above_guard(function: Any) -> list[Any]:
    """What decorates the guard. All of it wears the guard's mark; the handler below it does not."""
    return [layer for layer in _wrapped(function) if guard_of(layer) is not None][:-1]
