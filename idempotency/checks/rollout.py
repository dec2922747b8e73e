"""What is meant for a roll-out must not stay for ever."""

from collections.abc import Sequence

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.utils.module_loading import import_string

from idempotency import conf


def check_client(**_: object) -> Sequence[CheckMessage]:
    """The function that names clients can be called."""
    path = conf.current().client
    try:
        usable = callable(import_string(path))
    except ImportError:
        usable = False
    if usable:
        return []
    return [
        Error(
            f"IDEMPOTENCY['CLIENT'] is {path!r}, which cannot be imported or called.",
            hint="Name a function that takes the request and returns a short label of its sender.",
            id="idempotency.E023",
        )
    ]


def check_observing(**_: object) -> Sequence[CheckMessage]:
    """In production, OBSERVE is a state to get out of."""
    if settings.DEBUG or not conf.current().observe:
        return []
    return [
        CheckWarning(
            "IDEMPOTENCY['OBSERVE'] is on: a request without a key is served, and served again "
            "each time it is repeated.",
            hint="See which clients send no key (the counter idempotency_key_absent_total, or "
            "action=key_absent in the log). Turn OBSERVE off once none is left that you will wait for.",
            id="idempotency.W006",
        )
    ]
