"""Which types of event start something, and what: a white list that the project fills."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from fulfilment.webhooks.event import Event

if TYPE_CHECKING:  # a project names its routes in its apps.py, before there are any models
    from fulfilment.models import Fulfilment

# What `fulfilment.start` needs, or None: what the event pays for is not known here yet.
Starter: TypeAlias = Callable[[Event], Mapping[str, Any] | None]

_routes: dict[str, Starter] = {}


def route(event_type: str, starter: Starter) -> None:
    """Let events of this type start what `starter` answers, once per payment.

    Say so in an `AppConfig.ready`; again: the last one counts. The starter runs inside the
    event's transaction: the database only, no network, no waiting. It returns the arguments of
    `fulfilment.start` (`event_id` and `actor` may be left out); None where the payment is not
    known yet, and is asked again later; it raises `EventRefused` where time will not help.
    """
    _routes[event_type] = starter


def types() -> frozenset[str]:
    """The types of event that may start something."""
    return frozenset(_routes)


def is_routed(event: Event) -> bool:
    """May this event start anything?"""
    return event.trigger is not None and event.type in _routes


def started(event: Event) -> "Fulfilment | None":
    """Start what the event pays for, in the caller's transaction; None: not known yet.

    Another event of the payment, or the same one again, gets the row that exists.
    """
    from fulfilment.starts import start

    given = _routes[event.type](event)
    if given is None:
        return None
    ours = {
        "event_id": f"{event.provider}:{event.dedupe_key}",
        "actor": f"provider:{event.provider}",
    }
    return start(**(ours | dict(given)))
