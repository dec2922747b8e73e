"""Fixtures for pytest: `pytest_plugins = ["idempotency.testing.fixtures"]` in the top conftest.py."""

from uuid import uuid4

import pytest
from django.test import Client

__all__ = ["idempotency_key", "keyed_client"]


@pytest.fixture
def idempotency_key() -> str:
    """A key that nobody has used."""
    return str(uuid4())


@pytest.fixture
def keyed_client(idempotency_key: str) -> Client:
    """Django's test client, which sends `idempotency_key` with every request; sign in as usual."""
    return Client(headers={"Idempotency-Key": idempotency_key})
