"""Fetches what providers tell only those who ask: statements, status reports, returns.

Each message becomes events of the inbox, on record before anything is done about them, and applied
by the same rules. Nothing is taken out of a mailbox, so a message is met again and again, and kept
once; a process that dies anywhere loses none.
"""

import logging
from collections.abc import Sequence
from typing import Any

from fulfilment import store
from fulfilment.conf import conf
from fulfilment.connectors.base import NoInformation
from fulfilment.models import ProviderEvent, Pulse
from fulfilment.reconcile import budget
from fulfilment.webhooks import entries, inbox
from fulfilment.webhooks.entries import Entry
from fulfilment.webhooks.errors import IntakeRefused

log = logging.getLogger(__name__)


def fetch_due() -> int:
    """Look into every mailbox that was not looked into for `MAILBOX_EVERY`. Returns how many new
    messages were kept.
    """
    with store.alone("fulfilment.mailbox") as mine:
        return sum(_guarded(name) for name in _due()) if mine else 0


def fetch(provider: str) -> int:
    """Look into this provider's mailbox now. Returns how many new messages were kept.

    Raises `ProviderUnknown` where the settings name no such provider.
    """
    entry = entries.entry(provider)
    if entry.mailbox is None:
        return 0
    connector = conf().webhooks[provider]["CONNECTOR"]
    if not (budget.may_call(connector) and budget.take(connector, patience=conf().total_deadline)):
        return 0  # its look-ups use up all that it is asked, or it does not answer at all
    letters = entry.mailbox.letters()
    budget.heard(connector, informed=not isinstance(letters, NoInformation))
    if isinstance(letters, NoInformation):
        log.warning(
            "mailbox not fetched",
            extra={"action": "mailbox_closed", "provider": provider, "reason": letters.reason},
        )
        return 0
    new = _new(provider, letters)
    kept = sum(_kept(entry, letter) for letter in new)
    store.pulse(_pulse(provider))
    return kept


def _due() -> list[str]:
    names = [name for name in conf().webhooks if _has_mailbox(name)]
    since = store.now() - conf().mailbox_every
    fresh = Pulse.objects.filter(name__in=map(_pulse, names), at__gt=since)
    looked_into = set(fresh.values_list("name", flat=True))
    return [name for name in names if _pulse(name) not in looked_into]


def _has_mailbox(provider: str) -> bool:
    try:
        return entries.entry(provider).mailbox is not None
    except Exception:  # noqa: BLE001  # a connector may raise anything here, and a check says so
        return False


def _guarded(provider: str) -> int:
    """One bank that fails must not keep the others."""
    try:
        return fetch(provider)
    except Exception:
        extra = {"action": "mailbox_failed", "provider": provider}
        log.exception("mailbox failed", extra=extra)
        return 0


def _new(provider: str, letters: Sequence[Any]) -> list[Any]:
    """Those of which not everything is on record yet: the event 0 is always kept last."""
    names = {f"{letter.name}/0": letter for letter in letters}
    kept = ProviderEvent.objects.filter(provider=provider, dedupe_key__in=names)
    known = set(kept.values_list("dedupe_key", flat=True))
    return [letter for name, letter in names.items() if name not in known]


def _kept(entry: Entry, letter: Any) -> bool:
    """One message that cannot be kept must not keep those behind it, which may say what matters."""
    try:
        _keep(entry, letter)
    except IntakeRefused as error:
        log.exception(
            "message not kept",
            extra={
                "action": "message_refused",
                "provider": entry.provider,
                "event": letter.name,
                "code": error.code,
            },
        )
        return False
    return True


def _keep(entry: Entry, letter: Any) -> None:
    assert entry.mailbox is not None  # noqa: S101  # asked by the caller
    for body in reversed(entry.mailbox.events(letter)):
        inbox.keep(entry, body)


def _pulse(provider: str) -> str:
    return f"mailbox.{provider}"[:64]
