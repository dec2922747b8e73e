"""The providers that send us events, as `FULFILMENT["WEBHOOKS"]` names them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from fulfilment.conf import conf
from fulfilment.connectors import registry
from fulfilment.webhooks.errors import ProviderUnknown
from fulfilment.webhooks.event import Webhooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One provider's way in."""

    provider: str
    webhooks: Webhooks
    secrets: tuple[str, ...] = field(repr=False)
    connectors: tuple[str, ...]  # whose fulfilments it may speak about: nobody else's
    authenticates_body: bool  # else an event proves nothing and is only a reason to ask


def entry(provider: str) -> Entry:
    """The provider's entry. Raises `ProviderUnknown`; what `checks` refuses raises as it is."""
    given = conf().webhooks.get(provider)
    if given is None:
        raise ProviderUnknown
    return build(provider, given)


def build(provider: str, given: Mapping[str, Any]) -> Entry:
    """The entry from its settings: CONNECTOR, SECRETS and, where it is several, SPEAKS_FOR."""
    name = str(given["CONNECTOR"])
    connector = registry.build(name)
    webhooks = getattr(connector, "webhooks", None)
    if webhooks is None:
        raise ValueError(f"the connector {name!r} receives no events")
    secrets = given.get("SECRETS") or ()
    return Entry(
        provider=provider,
        webhooks=cast("Webhooks", webhooks),
        secrets=(secrets,) if isinstance(secrets, str) else tuple(secrets),
        connectors=tuple(given.get("SPEAKS_FOR", (name,))),
        authenticates_body=connector.capabilities.webhook_authenticates_body,
    )
