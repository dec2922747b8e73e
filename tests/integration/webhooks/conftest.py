"""Every test here has its own provider that talks, its own books, and a white list of its own."""

from typing import Any

import pytest
from django.core.cache import caches

import fulfilment
from fulfilment import handlers
from fulfilment.webhooks import routes, seen
from tests.integration.fulfilment.conftest import QUICK
from tests.integration.fulfilment.support import Books, Provider
from tests.integration.webhooks.support import SECRET, Talking


@pytest.fixture
def provider(settings: Any) -> Provider:
    made = Provider()
    settings.STATIC_ROOT = None  # nothing is collected here, and WhiteNoise warns of the folder
    talking = {"CLASS": Talking, "PROVIDER": made}
    settings.FULFILMENT = QUICK | {
        "EVENT_HINT": None,
        "CONNECTORS": {"memory": talking, "airtime": talking, "foreign": talking},
        "WEBHOOKS": {
            "memory": {
                "CONNECTOR": "memory",
                "SECRETS": [SECRET],
                "SPEAKS_FOR": ("memory", "airtime"),
                "LIVEMODE": False,
            },
            "foreign": {"CONNECTOR": "foreign", "SECRETS": [SECRET], "LIVEMODE": False},
        },
    }
    return made


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> Books:
    made = Books()
    monkeypatch.setattr(handlers, "_registered", dict(handlers._registered))
    fulfilment.register("test", made.handlers())
    return made


@pytest.fixture(autouse=True)
def world(provider: Provider, books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are there for every test; no routes, an empty filter, and no memory of its failing.

    The filter outlives the rows that a test rolls back, as it would outlive a restored backup.
    """
    caches["default"].clear()
    monkeypatch.setattr(routes, "_routes", {})
    seen._breaker.reset()
