"""System checks of the intake: settings under which anybody could be believed, or nobody."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.core.checks import CheckMessage, Error

from fulfilment.conf import Conf
from fulfilment.webhooks import entries
from fulfilment.webhooks.entries import Entry

_NAMES = frozenset({"CONNECTOR", "SECRETS", "SPEAKS_FOR", "LIVEMODE", "ACCOUNTS"})


def intake_holds(settings: Conf) -> Iterable[CheckMessage]:
    """Every entry of `FULFILMENT["WEBHOOKS"]`, and the durations of the inbox."""
    yield from _durations(settings)
    built = []
    for provider, given in settings.webhooks.items():
        named = f"FULFILMENT['WEBHOOKS']['{provider}']"
        try:
            entry = entries.build(provider, given)
        except Exception as error:  # noqa: BLE001  # a connector may raise anything here
            hint = "CONNECTOR names one of FULFILMENT['CONNECTORS'] with `webhooks` or a `mailbox`."
            yield Error(f"{named} cannot be used: {error}", hint=hint, id="fulfilment.E006")
        else:
            built.append(entry)
            yield from (
                *_secrets(named, entry),
                *_known(named, entry, settings),
                *_words(named, given),
                *_accounts(named, entry, given),
            )
    yield from _modes(built)


def _secrets(named: str, entry: Entry) -> Iterable[CheckMessage]:
    if entry.webhooks is None:
        return  # its messages are fetched: the connector's own credentials prove them
    if entry.secrets and all(entry.webhooks.usable(secret) for secret in entry.secrets):
        return
    yield Error(
        f"{named}['SECRETS'] holds no secret, or one that proves nothing: every event signed "
        "with it is refused.",
        hint="whsec_ and the base64 of 24 to 64 random bytes; several while one is replaced.",
        id="fulfilment.E007",
    )


def _known(named: str, entry: Entry, settings: Conf) -> Iterable[CheckMessage]:
    if unknown := sorted(entry.all_connectors - settings.connectors.keys()):
        place = "SPEAKS_FOR" if entry.accounts is None else "ACCOUNTS"
        yield Error(
            f"{named}['{place}'] names {', '.join(unknown)}, which is no connector.",
            hint="Its events are evidence for the fulfilments of these connectors only.",
            id="fulfilment.E008",
        )


def _words(named: str, given: Mapping[str, Any]) -> Iterable[CheckMessage]:
    odd = sorted(given.keys() - _NAMES)
    if odd or type(given.get("LIVEMODE", True)) is not bool:
        yield Error(
            f"{named} cannot be read: {', '.join(odd) or 'LIVEMODE'}.",
            hint="LIVEMODE is True or False: the mode whose events count. Of the other mode none "
            f"does. The names are {', '.join(sorted(_NAMES))}.",
            id="fulfilment.E015",
        )


def _accounts(named: str, entry: Entry, given: Mapping[str, Any]) -> Iterable[CheckMessage]:
    if entry.accounts is None:
        return
    if not entry.accounts or "SPEAKS_FOR" in given:
        yield Error(
            f"{named}['ACCOUNTS'] names no account, or stands beside SPEAKS_FOR.",
            hint="ACCOUNTS says for each account which connectors it speaks for; leave SPEAKS_FOR "
            "out. Without ACCOUNTS, every account is believed about the connectors of SPEAKS_FOR.",
            id="fulfilment.E016",
        )
    counts = Counter(name for names in entry.accounts.values() for name in names)
    if shared := sorted(name for name, count in counts.items() if count > 1):
        yield Error(
            f"{named}['ACCOUNTS'] lets several accounts speak for {', '.join(shared)}: one account "
            "could settle what was sent from the other.",
            hint="A connector is one account. Configure the connector once for each account.",
            id="fulfilment.E017",
        )


def _modes(built: Iterable[Entry]) -> Iterable[CheckMessage]:
    modes: dict[bool, set[str]] = {True: set(), False: set()}
    for entry in built:
        modes[bool(entry.livemode)] |= entry.all_connectors
    if both := sorted(modes[True] & modes[False]):
        yield Error(
            f"FULFILMENT['WEBHOOKS'] believes live and test events about {', '.join(both)}: a test "
            "could settle a payment.",
            hint="A connector is one mode. Configure it once for each, with keys of its own.",
            id="fulfilment.E018",
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
