"""The cast: two users, a client that sends keyed requests, an empty stage and an empty cache."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client, override_settings

from idempotency import cache, timeline
from tests.integration.idempotency.stage import TABLE, Stage, stage

ADA = UUID("00000000-0000-0000-0000-00000000ada0")
BOLA = UUID("00000000-0000-0000-0000-0000000b01a0")
B0 = {"toAccount": "0123456789", "amount": 10000, "currency": "NGN", "narration": "INV-1001"}

# Real commits; only this app's tables are flushed after a test, which is quicker by far.
COMMITTING = pytest.mark.django_db(transaction=True, available_apps=["idempotency"])

_keys = itertools.count(1)


@dataclass
class Phone:
    """Sends a keyed POST as a user; every part can be said otherwise."""

    user: UUID | str | None = ADA

    def send(
        self,
        key: str | None,
        body: Any = None,
        *,
        path: str = "/required/",
        method: str = "post",
        content_type: str = "application/json",
        **headers: Any,
    ) -> Any:
        named = {} if key is None else {"Idempotency-Key": key}
        named |= {} if self.user is None else {"X-User": str(self.user)}
        client = Client(raise_request_exception=False, headers=named | headers)
        return getattr(client, method)(
            path, B0 if body is None else body, content_type=content_type
        )


@pytest.fixture(autouse=True)
def _own_urls() -> Iterator[None]:
    settings = {
        "ROOT_URLCONF": "tests.integration.idempotency.urls",
        "IDEMPOTENCY": {"CACHE": "default"},
        "MIDDLEWARE": [],  # the service's own edges are tested with the service
    }
    with override_settings(**settings):
        yield


@pytest.fixture(autouse=True)
def stage_(transactional_db: None) -> Iterator[Stage]:
    """The stage and the cache, empty."""
    with connection.cursor() as cursor:
        cursor.execute(TABLE)
    caches["default"].clear()
    stage.__init__()  # type: ignore[misc]
    timeline._known.clear()
    cache.breaker("default").reset()
    yield stage
    cache.breaker("default").reset()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE stage_effects")


@pytest.fixture
def ada() -> Phone:
    """The owner."""
    return Phone(ADA)


@pytest.fixture
def bola() -> Phone:
    """The other customer, who must see nothing of Ada's."""
    return Phone(BOLA)


@pytest.fixture
def key() -> str:
    """A key that nobody has used."""
    return f"key-{next(_keys)}"
