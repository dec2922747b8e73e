"""Fixtures for pytest: `pytest_plugins = ["fulfilment.testing.fixtures"]` in the top conftest.py."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from fulfilment.conf import conf
from fulfilment.testing.provider import FakeProvider
from fulfilment.testing.registering import fake_connector

__all__ = ["fake_connectors"]


@pytest.fixture
def fake_connectors() -> Iterator[Mapping[str, FakeProvider]]:
    """Every configured connector is a fake, so no test can pay anybody; the fakes by name."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(fake_connector(name)) for name in conf().connectors}
