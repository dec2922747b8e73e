"""Every test here has its own provider, its own books, and the connector `memory` between them."""

from datetime import timedelta
from typing import Any

import pytest

import fulfilment
from fulfilment import handlers
from tests.integration.fulfilment.support import Books, InMemory, Provider

QUICK = {
    "LEASE": timedelta(seconds=30),
    "TOTAL_DEADLINE": timedelta(seconds=10),
    "MARGIN": timedelta(seconds=5),
    "SCHEDULE": (timedelta(seconds=1), timedelta(seconds=2), timedelta(hours=1)),
    "JITTER": 0.0,
    "LOOKUPS_PER_SECOND": 1000.0,
    "HINT": None,
}


@pytest.fixture
def provider(settings: Any) -> Provider:
    made = Provider()
    connectors = {"memory": {"CLASS": InMemory, "PROVIDER": made}}
    connectors["other"] = connectors["memory"]
    settings.FULFILMENT = QUICK | {"CONNECTORS": connectors}
    return made


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> Books:
    made = Books()
    monkeypatch.setattr(handlers, "_registered", dict(handlers._registered))
    fulfilment.register("test", made.handlers())
    return made


@pytest.fixture(autouse=True)
def world(provider: Provider, books: Books) -> None:
    """Both are there for every test of this folder."""
