"""System checks of the intake: settings under which anybody could be believed, or nobody."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.core.checks import CheckMessage, Error

from fulfilment.conf import Conf
from fulfilment.webhooks import entries


def intake_holds(settings: Conf) -> Iterable[CheckMessage]:
    """Every entry of `FULFILMENT["WEBHOOKS"]`, and the durations of the inbox."""
    yield from _durations(settings)
    for provider, given in settings.webhooks.items():
        yield from _entry(provider, given, settings)


def _entry(provider: str, given: Mapping[str, Any], settings: Conf) -> Iterable[CheckMessage]:
    named = f"FULFILMENT['WEBHOOKS']['{provider}']"
    try:
        entry = entries.build(provider, given)
    except Exception as error:  # noqa: BLE001  # a connector may raise anything here
        hint = "CONNECTOR names one of FULFILMENT['CONNECTORS'] that has `webhooks`."
        yield Error(f"{named} cannot be used: {error}", hint=hint, id="fulfilment.E006")
        return
    if not entry.secrets or not all(entry.webhooks.usable(secret) for secret in entry.secrets):
        yield Error(
            f"{named}['SECRETS'] holds no secret, or one that proves nothing: every event signed "
            "with it is refused.",
            hint="whsec_ and the base64 of 24 to 64 random bytes; several while one is replaced.",
            id="fulfilment.E007",
        )
    if unknown := sorted(set(entry.connectors) - settings.connectors.keys()):
        yield Error(
            f"{named}['SPEAKS_FOR'] names {', '.join(unknown)}, which is no connector.",
            hint="Its events are evidence for the fulfilments of these connectors only.",
            id="fulfilment.E008",
        )


def _durations(settings: Conf) -> Iterable[CheckMessage]:
    waits = (*settings.park_schedule, settings.dead_after, settings.skew, settings.cache_ttl)
    if settings.park_schedule and all(wait > timedelta(0) for wait in waits):
        return
    yield Error(
        "FULFILMENT: PARK_SCHEDULE needs at least one duration, and PARK_SCHEDULE, DEAD_AFTER, "
        "SKEW and CACHE_TTL must be longer than nothing.",
        hint="Leave them out to get the defaults.",
        id="fulfilment.E009",
    )
