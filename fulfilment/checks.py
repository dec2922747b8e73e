"""System checks: settings under which an effect could happen twice are refused at start."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string

from fulfilment import health
from fulfilment.conf import Conf, conf
from fulfilment.connectors import checks as connectors_checks  # noqa: F401  # they register themselves
from fulfilment.connectors import registry
from fulfilment.webhooks.checks import intake_holds


@register()
def settings_hold(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Lease, schedule, hints, connectors and webhooks of the `FULFILMENT` setting."""
    try:
        settings = conf()
    except (TypeError, ValueError) as error:
        hint = "The names stand in fulfilment/conf.py."
        return [Error(f"FULFILMENT cannot be read: {error}", hint=hint, id="fulfilment.E001")]
    return [
        *_lease(settings),
        *_schedule(settings),
        *_calls(settings),
        *_limits(settings),
        *_kept(settings),
        *_generations(settings),
        *_health(settings),
        *_hints(settings),
        *_connectors(settings),
        *intake_holds(settings),
    ]


def _lease(settings: Conf) -> list[CheckMessage]:
    call = settings.total_deadline + settings.margin
    if settings.lease > call:
        return []
    return [
        Error(
            f"FULFILMENT['LEASE'] ({settings.lease.total_seconds():g} s) must be longer than "
            f"TOTAL_DEADLINE + MARGIN ({call.total_seconds():g} s): a slow call would be taken "
            "for a dead worker.",
            hint="Raise LEASE or lower TOTAL_DEADLINE.",
            id="fulfilment.E002",
        )
    ]


def _schedule(settings: Conf) -> list[CheckMessage]:
    durations = (
        *settings.schedule,
        settings.poll_interval,
        settings.backoff_first,
        settings.watch_every,
    )
    if settings.schedule and all(d > timedelta(0) for d in durations) and 0 <= settings.jitter < 1:
        return []
    return [
        Error(
            "FULFILMENT['SCHEDULE'] must name at least one duration, and all durations must be "
            "longer than nothing.",
            hint="Leave SCHEDULE out to get the default.",
            id="fulfilment.E003",
        )
    ]


def _calls(settings: Conf) -> list[CheckMessage]:
    """How often a provider is called: a budget of nothing would ask nobody, for ever."""
    found: list[CheckMessage] = []
    if not 0 < settings.lookups_per_second <= 10_000:
        found.append(
            Error(
                "FULFILMENT['LOOKUPS_PER_SECOND'] must be above 0, and 10000 at most.",
                hint="What the provider allows, for all processes together; 0.1 is one in 10 s.",
                id="fulfilment.E021",
            )
        )
    if settings.breaker_after < 1 or settings.breaker_open <= timedelta(0):
        found.append(
            Error(
                "FULFILMENT['BREAKER_AFTER'] must be at least 1 and BREAKER_OPEN longer than "
                "nothing.",
                hint="Leave both out to get the defaults: 10 failures in a row, 30 s.",
                id="fulfilment.E022",
            )
        )
    return found


def _limits(settings: Conf) -> list[CheckMessage]:
    odd = [
        currency
        for currency, amount in settings.second_person_above.items()
        if type(amount) is not int or amount < 0 or not re.fullmatch("[A-Z]{3}", currency)
    ]
    if not odd:
        return []
    return [
        Error(
            f"FULFILMENT['SECOND_PERSON_ABOVE'] cannot be read for {', '.join(map(str, odd))}.",
            hint='Whole minor units per currency, as in {"NGN": 100_000_000}.',
            id="fulfilment.E010",
        )
    ]


def _health(settings: Conf) -> list[CheckMessage]:
    known = health.limits_of(Conf())
    odd = [
        name
        for name, limit in settings.health.items()
        if name not in known or not _is_limit(limit, like=name)
    ]
    if not odd:
        return []
    return [
        Error(
            f"FULFILMENT['HEALTH'] cannot be read for {', '.join(map(str, odd))}.",
            hint="A timedelta for an age, a whole number for a count, None for no limit. The names: "
            f"{', '.join(known)}.",
            id="fulfilment.E027",
        )
    ]


def _is_limit(limit: Any, *, like: str) -> bool:
    if limit is None:
        return True
    if like in health.COUNTS:
        return type(limit) is int and limit >= 0
    return isinstance(limit, timedelta) and limit > timedelta(0)


def _kept(settings: Conf) -> list[CheckMessage]:
    """A body that is gone before a provider's last word could not be shown to anybody."""
    least, unapplied = timedelta(days=1), settings.unapplied_kept
    if least <= settings.payloads_kept <= unapplied and settings.dead_after < unapplied:
        return []
    return [
        Error(
            "FULFILMENT['PAYLOADS_KEPT'] must be a day at least, and ['UNAPPLIED_KEPT'] no shorter "
            "than that, and longer than DEAD_AFTER.",
            hint="Leave both out to get the defaults, 90 and 400 days.",
            id="fulfilment.E011",
        )
    ]


def _generations(settings: Conf) -> list[CheckMessage]:
    if settings.generations >= 1 and settings.retire_batch >= 1:
        return []
    return [
        Error(
            "FULFILMENT['GENERATIONS'] and ['RETIRE_BATCH'] count from 1.",
            hint="GENERATIONS = 1: nothing is sent again under a new reference by a rule.",
            id="fulfilment.E012",
        )
    ]


def _hints(settings: Conf) -> list[CheckMessage]:
    hints = {"HINT": settings.hint, "EVENT_HINT": settings.event_hint}
    return [error for name, path in hints.items() if path for error in _hint(name, path)]


def _hint(name: str, path: str) -> list[CheckMessage]:
    try:
        import_string(path)
    except ImportError as error:
        hint = f"Install the extra `celery`, or set {name} to None and run `manage.py run_sweeps`."
        return [Error(f"FULFILMENT['{name}']: {error}", hint=hint, id="fulfilment.E004")]
    return []


def _connectors(settings: Conf) -> list[CheckMessage]:
    return [error for name in settings.connectors for error in _connector(name)]


def _connector(name: str) -> list[CheckMessage]:
    try:
        registry.build(name)
    except Exception as error:  # noqa: BLE001  # a connector may raise anything here
        return [
            Error(
                f"FULFILMENT['CONNECTORS']['{name}'] cannot be used: {error}",
                hint="CLASS is the dotted path of the connector; the rest are its own settings.",
                id="fulfilment.E005",
            )
        ]
    return []
