"""The providers that send us events, as `FULFILMENT["WEBHOOKS"]` names them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from fulfilment.conf import conf
from fulfilment.connectors import registry
from fulfilment.webhooks.errors import EventMalformed, ProviderUnknown
from fulfilment.webhooks.event import Event, Mailbox, Webhooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One provider's way in. An event of the other mode or of no account of ours is kept, and moves
    nothing.
    """

    provider: str
    webhooks: Webhooks | None  # None: it sends nothing to us, and its messages are fetched
    mailbox: Mailbox | None
    secrets: tuple[str, ...] = field(repr=False)
    livemode: bool
    # Whose fulfilments an account may speak about: nobody else's. None: all of them, `connectors`.
    accounts: Mapping[str, tuple[str, ...]] | None
    connectors: tuple[str, ...]
    has_id: bool  # else an event is named by the digest of its content
    authenticates_body: bool  # else it proves nothing and is only a reason to ask

    @property
    def all_connectors(self) -> frozenset[str]:
        """All connectors about which it may be believed, by whichever account."""
        if self.accounts is None:
            return frozenset(self.connectors)
        return frozenset(name for names in self.accounts.values() for name in names)

    def read(self, raw_body: bytes) -> Event:
        """What a verified body says. Raises `EventMalformed`.

        A provider whose events tell no mode has an address for each, so it is the entry's. One
        whose events have no id of their own gets them named by what identifies them, and whatever
        else its connector calls them does not count.
        """
        said = self._reader.read(raw_body)
        mode = self.livemode if said.livemode is None else said.livemode
        return replace(said, provider=self.provider, livemode=mode, dedupe_key=self._name(said))

    @property
    def _reader(self) -> Webhooks | Mailbox:
        reader = self.webhooks or self.mailbox
        if reader is None:
            raise ProviderUnknown
        return reader

    def _name(self, said: Event) -> str:
        if not self.has_id:
            return hashlib.sha256(said.content).hexdigest()
        if not said.dedupe_key.strip():
            raise EventMalformed("The event has no id.")
        return said.dedupe_key

    def objection(self, said: Event) -> str:
        """Why this event may move nothing here, in a sentence; empty where it may."""
        if said.livemode is not self.livemode:
            ours = "live" if self.livemode else "test"
            return (
                f"It is of the {said.mode} mode, and this address takes events of the {ours} mode."
            )
        if self.accounts is not None and said.account not in self.accounts:
            return "It is of an account that the settings of this provider do not name."
        return ""

    def speaks_for(self, account: str) -> tuple[str, ...]:
        """The connectors about whose fulfilments an event of this account may be believed."""
        return self.connectors if self.accounts is None else self.accounts.get(account, ())


def entry(provider: str) -> Entry:
    """The provider's entry. Raises `ProviderUnknown`; what `checks` refuses raises as it is."""
    given = conf().webhooks.get(provider)
    if given is None:
        raise ProviderUnknown
    return build(provider, given)


def build(provider: str, given: Mapping[str, Any]) -> Entry:
    """The entry from its settings: CONNECTOR, SECRETS and, where they are needed, the others."""
    name = str(given["CONNECTOR"])
    connector = registry.build(name)
    webhooks, mailbox = (getattr(connector, way, None) for way in ("webhooks", "mailbox"))
    if webhooks is None and mailbox is None:
        raise ValueError(f"the connector {name!r} receives no events and has no mailbox")
    accounts = given.get("ACCOUNTS")
    return Entry(
        provider=provider,
        webhooks=cast("Webhooks | None", webhooks),
        mailbox=None if webhooks else cast("Mailbox | None", mailbox),
        secrets=several(given.get("SECRETS") or ()),
        livemode=given.get("LIVEMODE", True),
        accounts=None if accounts is None else {a: several(accounts[a]) for a in accounts},
        connectors=several(given.get("SPEAKS_FOR", name)),
        has_id=connector.capabilities.webhook_has_id,
        authenticates_body=connector.capabilities.webhook_authenticates_body,
    )


def speak_for(connector: str) -> bool:
    """Is there a provider whose events may be believed about this connector's fulfilments?"""
    built = (_built(provider, given) for provider, given in conf().webhooks.items())
    return any(entry is not None and connector in entry.all_connectors for entry in built)


def _built(provider: str, given: Mapping[str, Any]) -> Entry | None:
    try:
        return build(provider, given)
    except Exception:  # noqa: BLE001  # a system check says so; a connector may raise anything here
        return None


def several(given: Any) -> tuple[str, ...]:
    """Secrets or connectors of a setting; one may be written without a list."""
    return (given,) if isinstance(given, str) else tuple(given)
