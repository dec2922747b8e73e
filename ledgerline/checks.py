"""System checks of the service: what must not go live is refused at start, with a remedy."""

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn

from django.conf import settings
from django.core.checks import CheckMessage, Error, register, run_checks
from django.core.checks import Warning as CheckWarning

# From outside in. Where an inner time-out outlives an outer one, a client is told "failed" while
# the work goes on.
_ORDER = ("PROXY_TIMEOUT", "WEB_TIMEOUT", "STATEMENT_TIMEOUT", "LOCK_TIMEOUT")


# To gunicorn: this worker cannot boot, and starting it again would not help. Not zero to all others.
_CANNOT_BOOT = 3


def stop_on_errors() -> None:
    """End this process with every error's sentence and remedy, as `manage.py` ends its commands.

    For the processes that no command of `manage.py` starts: web server, Celery's worker and beat.
    """
    found = [error for error in run_checks() if error.is_serious() and not error.is_silenced()]
    if found:
        stop("\n".join(f"{error.msg} {error.hint or ''}".rstrip() for error in found))


def stop(sentence: str) -> NoReturn:
    """End this process at its start, with the reason on standard error."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
    sys.exit(_CANNOT_BOOT)


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


@register()
def waiting_leaves_room(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Requests that wait for an outcome end before the web server gives up, and are few."""
    found: list[CheckMessage] = []
    if settings.LONGEST_WAIT >= settings.WEB_TIMEOUT:
        hint = "Lower LONGEST_WAIT; the client must get its 202 before somebody gives up."
        text = "LONGEST_WAIT must be shorter than WEB_TIMEOUT."
        found.append(Error(text, hint=hint, id="ledgerline.E002"))
    if settings.WAITING_THREADS * 4 > settings.WEB_THREADS:
        hint = "Lower WAITING_THREADS or raise WEB_THREADS (and gunicorn's --threads)."
        text = "WAITING_THREADS must not be more than a quarter of WEB_THREADS."
        found.append(Error(text, hint=hint, id="ledgerline.E003"))
    return found


@register()
def confirmations_can_be_given(
    app_configs: Sequence[Any] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Where a confirmation is required, somebody must be able to get one."""
    if not settings.CONFIRM_ABOVE or settings.IDEMPOTENCY.get("TOKENS"):
        return []
    hint = "Name a Redis of CACHES in IDEMPOTENCY['TOKENS'], or set CONFIRM_ABOVE to nothing."
    text = "CONFIRM_ABOVE asks for confirmations, and no cache is named that could keep them."
    return [Error(text, hint=hint, id="ledgerline.E004")]


@register()
def banks_have_connectors(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Every bank is paid to by a connector that there is: else its customers wait for a person."""
    there = settings.FULFILMENT.get("CONNECTORS", {})
    named = {
        "EXTERNAL_CONNECTOR": settings.EXTERNAL_CONNECTOR,
        **{f"BANK_CONNECTORS ({bank})": name for bank, name in settings.BANK_CONNECTORS.items()},
    }
    hint = f"There are: {', '.join(sorted(there))}. (iso20022 needs ISO20022_URL.)"
    return [
        Error(f"{setting} names {name!r}, which is no connector.", hint=hint, id="ledgerline.E005")
        for setting, name in named.items()
        if name not in there
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
