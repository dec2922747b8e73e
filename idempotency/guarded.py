"""Which views of this project are guarded, as its URLs lead to them."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver


def callbacks() -> Iterator[Any]:
    """Every view that a URL of this project leads to, as Django calls it."""
    if getattr(settings, "ROOT_URLCONF", None):
        yield from _below(get_resolver())


def handlers(callback: Any) -> Iterator[Any]:
    """The handlers behind a view: the methods or actions of its class, or the function itself."""
    owner = class_of(callback)
    if owner is None:
        yield callback
        return
    names = getattr(callback, "actions", None) or {m: m for m in owner.http_method_names}
    for name in sorted(set(names.values())):
        if hasattr(owner, name):
            yield getattr(owner, name)


def class_of(callback: Any) -> Any:
    """The class of a class-based view, of Django's or of REST framework's; None for a function."""
    return getattr(callback, "cls", None) or getattr(callback, "view_class", None)


def _below(resolver: URLResolver) -> Iterator[Any]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLPattern):
            yield pattern.callback
        else:
            yield from _below(pattern)
