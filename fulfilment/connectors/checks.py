"""System checks of the connectors: what they are called, and what they declare of their providers."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004  # Django's word

from fulfilment.conf import Conf, conf
from fulfilment.connectors import promises, registry
from fulfilment.webhooks import entries

_LONGEST_NAME = 32  # the column `connector` of a fulfilment


@register()
def promises_hold(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """What each connector declares of its provider, and what it is called."""
    try:
        settings = conf()
    except (TypeError, ValueError):
        return []  # `settings_hold` says so
    names = settings.connectors
    return [message for name in names for message in (*_name(name), *_promises(name, settings))]


def _name(name: str) -> list[CheckMessage]:
    if 0 < len(name) <= _LONGEST_NAME and name.isprintable():
        return []
    return [
        Error(
            f"FULFILMENT['CONNECTORS']: {name!r} is no name that a payment can be stored with.",
            hint=f"One to {_LONGEST_NAME} printable characters.",
            id="fulfilment.E025",
        )
    ]


def _promises(name: str, settings: Conf) -> list[CheckMessage]:
    try:
        declared = registry.build(name).capabilities
    except Exception:  # noqa: BLE001  # `settings_hold` says so
        return []
    place = f"FULFILMENT['CONNECTORS']['{name}']"
    if negative := promises.negative(declared):
        hint = "Nothing the provider promises can be over before it began."
        said = f"{place} declares less than nothing as {', '.join(negative)}."
        return [Error(said, hint=hint, id="fulfilment.E026")]
    call = settings.total_deadline + settings.margin
    found = promises.doubts(declared, call=call, has_events=entries.speak_for(name))
    return [
        Warning(f"{place}: {doubt.sentence}.", hint=doubt.hint, id="fulfilment.W071")
        for doubt in found
    ]
