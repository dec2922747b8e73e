"""Puts a fake in the place of a connector while a test runs."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.test import override_settings

from fulfilment.connectors.base import Capabilities
from fulfilment.testing.connector import PROMISES, FakeConnector
from fulfilment.testing.provider import SECRET, FakeProvider
from fulfilment.webhooks.entries import several

in_use: list[FakeProvider] = []  # of this process; `pass_time` tells them


@contextmanager
def fake_connector(name: str, *, capabilities: Capabilities = PROMISES) -> Iterator[FakeProvider]:
    """The connector `name` is a fake while the block runs, and the provider `name` sends its events.

    Everything else in FULFILMENT stays, but for what needs a broker or would spare a real
    provider: nothing is hinted, so what is due waits for `dispatch_now` or `run_round`, and
    look-ups are not paced. Its books are a file of their own, gone at the end of the block:
    processes that are forked inside see them, whatever becomes of the test's transaction.
    """
    with tempfile.TemporaryDirectory(prefix="fake-connector-") as folder:
        fake = FakeProvider(Path(folder) / "books", name=name)
        with override_settings(FULFILMENT=_with(fake, capabilities)):
            in_use.append(fake)
            try:
                yield fake
            finally:
                in_use.remove(fake)


def _with(fake: FakeProvider, capabilities: Capabilities) -> dict[str, Any]:
    given = {name.upper(): value for name, value in getattr(settings, "FULFILMENT", {}).items()}
    connector = {"CLASS": FakeConnector, "BOOKS": fake.path, "CAPABILITIES": capabilities}
    events = {
        "CONNECTOR": fake.name,
        "SECRETS": [SECRET],
        "LIVEMODE": False,
        "ACCOUNTS": {fake.account: _spoken_for(fake.name, given.get("WEBHOOKS", {}))},
    }
    return given | {
        "HINT": None,
        "EVENT_HINT": None,
        "LOOKUPS_PER_SECOND": 1000.0,
        "CONNECTORS": {**given.get("CONNECTORS", {}), fake.name: connector},
        "WEBHOOKS": {**given.get("WEBHOOKS", {}), fake.name: events},
    }


def _spoken_for(name: str, webhooks: Mapping[str, Any]) -> list[str]:
    """The connectors that the project's own entry of this provider is believed about."""
    entry: dict[str, Any] = {"SPEAKS_FOR": name} | dict(webhooks.get(name, {}))
    named = entry["ACCOUNTS"].values() if "ACCOUNTS" in entry else [entry["SPEAKS_FOR"]]
    return sorted({connector for given in named for connector in several(given)})
