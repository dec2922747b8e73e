"""A provider that says what the test wants, books that remember, and browsers with a login."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from fulfilment import handlers
from fulfilment.connectors.base import Capabilities, Dedupe, LookUp, NoInformation
from tests.integration.admin import cast


class Provider:
    """Its one answer to every question; nothing is ever sent to it here."""

    capabilities = Capabilities(dedupe=Dedupe.REFERENCE_FOREVER)
    answer: LookUp = NoInformation(reason="it is down")
    asked: list[str] = []

    def __init__(self, settings: Any) -> None: ...

    def recipient(self, instruction: Any) -> str:
        return ""

    def look_up(self, reference: str) -> LookUp:
        type(self).asked.append(reference)
        return self.answer


@pytest.fixture(autouse=True)
def provider(settings, monkeypatch) -> type[Provider]:
    """The only connector there is."""
    monkeypatch.setattr(Provider, "answer", Provider.answer)
    monkeypatch.setattr(Provider, "asked", [])
    settings.FULFILMENT = settings.FULFILMENT | {
        "HINT": None,
        "CONNECTORS": {"sandbox": {"CLASS": Provider}},
    }
    return Provider


@pytest.fixture(autouse=True)
def told() -> Iterator[list[str]]:
    """What the project's books were told, in order."""
    words: list[str] = []
    handlers.register(
        "payout",
        handlers.Handlers(
            on_fulfilled=lambda row, evidence: words.append("fulfilled"),
            on_failed=lambda row, evidence: words.append("failed"),
            on_reversed=lambda row, evidence: words.append("reversed"),
            on_cancelled=lambda row: words.append("cancelled"),
        ),
    )
    yield words
    del handlers._registered["payout"]


@pytest.fixture
def browser() -> Callable[[Any], Client]:
    """A signed-in browser, one per person."""

    def sign_in(user: Any) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def senior(db) -> Any:
    return cast.senior()


@pytest.fixture
def viewer(db) -> Any:
    return cast.viewer()
