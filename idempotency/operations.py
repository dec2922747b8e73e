"""The guarded operations that call other systems, by name: what the sweep knows of them."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_resolver

from idempotency import conf
from idempotency.recovery import Hook


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms a leased handler runs. What a view leaves open, the settings say."""

    handler: Callable[..., Any]
    hook: str | Hook
    given_lease: timedelta | None = None
    given_deadline: timedelta | None = None

    @property
    def lease(self) -> timedelta:
        """How long a request owns its key."""
        return conf.current().lease if self.given_lease is None else self.given_lease

    @property
    def deadline(self) -> timedelta:
        """How long an external call may take."""
        return conf.current().deadline if self.given_deadline is None else self.given_deadline

    @property
    def call(self) -> timedelta:
        """How much of the lease a call must find in front of it."""
        return self.deadline + conf.current().margin

    @property
    def recover(self) -> Hook:
        """The hook, whoever waits for it; a name is looked up on the class in whose body the handler stands."""
        if callable(self.hook):
            return _waited_for(self.hook)
        return partial(_on_new_view, self.handler, self.hook)


def register(operation: str, terms: Terms) -> None:
    """Make the operation known. Raises ImproperlyConfigured if another handler has its name."""
    known = _registered.get(operation)
    if known is not None and _place(known.handler) != _place(terms.handler):
        raise ImproperlyConfigured(
            f"Two leased handlers are named {operation!r}: the sweep could not tell which to ask."
        )
    _registered[operation] = terms


def registered() -> Mapping[str, Terms]:
    """Every leased operation of this project, whichever process asks: its views are imported."""
    if getattr(settings, "ROOT_URLCONF", None):
        get_resolver().url_patterns  # noqa: B018  # views register as they are imported
    return _registered


_registered: dict[str, Terms] = {}


def _on_new_view(handler: Callable[..., Any], name: str, record: Any) -> Any:
    """The sweep has no request, so the method must not need one."""
    owner: Any = sys.modules[handler.__module__]
    for part in handler.__qualname__.split(".")[:-1]:
        owner = getattr(owner, part)
    return _waited_for(getattr(owner(), name))(record)


def _waited_for(hook: Callable[..., Any]) -> Callable[..., Any]:
    return async_to_sync(hook) if iscoroutinefunction(hook) else hook


def _place(handler: Callable[..., Any]) -> tuple[str, str]:
    return handler.__module__, handler.__qualname__
