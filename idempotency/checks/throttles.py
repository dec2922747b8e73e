"""Throttles that would turn everybody away while their cache is down."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.core.checks import Warning as CheckWarning

from idempotency import redis_client, routes
from idempotency.checks.rest import rest_setting
from idempotency.routes import Guarded


def check_throttles(**_: object) -> Sequence[CheckMessage]:
    """W017, where the cache `default` is a Redis, in which REST framework's throttles count."""
    backend = settings.CACHES.get("default", {}).get("BACKEND")
    if backend not in redis_client.BACKENDS:
        return []
    found = [message for each in routes.guarded() for message in _each(each)]
    return list({message.msg: message for message in found}.values())


def _each(guarded: Guarded) -> Iterator[CheckMessage]:
    throttles = rest_setting(guarded, "throttle_classes", asked="get_throttles") or []
    names = ", ".join(each.__name__ for each in throttles if _fails_closed(each))
    if names:
        yield CheckWarning(
            f"{guarded.guard.operation} ({guarded.route!r}) is throttled by {names}, which answers 500 "
            "to everybody while the cache is down.",
            hint="Use UserRate, AnonRate or ScopedRate of idempotency.throttling, or mix its FailOpen "
            "into your own throttle, in front of REST framework's class.",
            id="idempotency.W017",
        )


def _fails_closed(throttle: Any) -> bool:
    """It counts in the default cache itself: REST framework's attribute, untouched."""
    from rest_framework.throttling import SimpleRateThrottle  # the view has its throttles

    counts = isinstance(throttle, type) and issubclass(throttle, SimpleRateThrottle)
    return counts and throttle.cache is SimpleRateThrottle.cache
