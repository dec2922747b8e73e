"""A guarded view whose `recover` the test plays, and the people at the desk."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from idempotency import Unknown, operations
from idempotency.operations import Terms
from tests.integration.keys import cast


@dataclass
class Desk:
    """The other system: what it says when it is asked, and how often it was."""

    says: Callable[[Any], Any] = lambda record: Unknown("still closed")
    asked: int = 0

    def ask(self, record: Any) -> Any:
        self.asked += 1
        return self.says(record)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Behind the operation that the cast's keys belong to."""
    desk = Desk()
    operations.registered()  # the service's own are there first
    monkeypatch.setitem(operations._registered, cast.OPERATION, Terms(lambda: None, desk.ask))
    return desk


@pytest.fixture
def senior(db: None, desk: Desk) -> Client:
    """May see and decide everything, and is no superuser."""
    return cast.browser(cast.person("senior", *cast.DECIDE))
