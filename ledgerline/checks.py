"""System checks of the service: what must not go live is refused at start, with a remedy."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as CheckWarning

# From outside in. Where an inner time-out outlives an outer one, a client is told "failed" while
# the work goes on.
_ORDER = ("PROXY_TIMEOUT", "WEB_TIMEOUT", "STATEMENT_TIMEOUT", "LOCK_TIMEOUT")


@register()
def timeouts_in_order(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """client > proxy > web server > statement > lock."""
    pairs = pairwise(_ORDER)
    return [
        Error(
            f"{outer} ({getattr(settings, outer).total_seconds():g} s) must be longer than "
            f"{inner} ({getattr(settings, inner).total_seconds():g} s).",
            hint=f"Raise {outer} or lower {inner}; the inner time-out has to strike first.",
            id="ledgerline.E001",
        )
        for outer, inner in pairs
        if getattr(settings, outer) <= getattr(settings, inner)
    ]


@register(deploy=True)
def secrets_are_set(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Development secrets must not reach production."""
    if not settings.SECRET_KEY.startswith("insecure-"):
        return []
    return [
        CheckWarning(
            "SECRET_KEY is the development key; anybody can forge tokens with it.",
            hint="Set SECRET_KEY or SECRET_KEY_FILE.",
            id="ledgerline.W001",
        )
    ]
