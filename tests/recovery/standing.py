"""Fixtures of the modules that share the crew: `from tests.recovery.standing import …`."""

from collections.abc import Iterator
from typing import Any

import pytest

import fulfilment
from fulfilment import handlers
from fulfilment.models import Fulfilment
from tests.integration.fulfilment.support import Books
from tests.recovery.payments import outside, settled
from tests.recovery.stack import Stack


@pytest.fixture
def _django_db_helper(crew: Stack) -> None:
    """In place of pytest-django's: no transaction and no flush, for the crew is at work all the time."""


@pytest.fixture(autouse=True)
def _ours(crew: Stack, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same connectors and books in this process; it hints nobody: the poller has to find rows."""
    names = ("sandbox", "kills_before_the_mark", "kills_in_the_call")
    connectors = {name: crew.sandbox.settings() for name in names}
    settings.FULFILMENT = {"HINT": None, "EVENT_HINT": None, "CONNECTORS": connectors}
    monkeypatch.setattr(handlers, "_registered", dict(handlers._registered))
    fulfilment.register("test", Books().handlers())
    if not Fulfilment.objects.filter(state="fulfilled").exists():
        settled(outside())  # the canary: without one that is found, nothing lost is ever sent again
    yield
    crew.sandbox.clear_faults()
