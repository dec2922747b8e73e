"""External effects that happen once: dispatched, looked up, and decided on evidence only.

    from fulfilment import Handlers, register, start

Names are loaded when they are first used, so importing the package needs no ready apps.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fulfilment.errors import (
        FulfilmentError,
        NotAllowed,
        NotCancellable,
        Stale,
        VerdictRefused,
    )
    from fulfilment.handlers import Corrected, Corrections, Handlers, register
    from fulfilment.reconcile.cancellations import cancel
    from fulfilment.starts import start
    from fulfilment.states import State, reference_of
    from fulfilment.webhooks.errors import EventRefused
    from fulfilment.webhooks.event import Event
    from fulfilment.webhooks.routes import route

_HOME = {
    "start": "starts",
    "cancel": "reconcile.cancellations",
    "register": "handlers",
    "Handlers": "handlers",
    "Corrected": "handlers",
    "Corrections": "handlers",
    "State": "states",
    "reference_of": "states",
    "FulfilmentError": "errors",
    "NotAllowed": "errors",
    "NotCancellable": "errors",
    "Stale": "errors",
    "VerdictRefused": "errors",
    "Event": "webhooks.event",
    "EventRefused": "webhooks.errors",
    "route": "webhooks.routes",
}

__all__ = [
    "Corrected",
    "Corrections",
    "Event",
    "EventRefused",
    "FulfilmentError",
    "Handlers",
    "NotAllowed",
    "NotCancellable",
    "Stale",
    "State",
    "VerdictRefused",
    "cancel",
    "reference_of",
    "register",
    "route",
    "start",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
