"""One crew of processes for all tests that need it, on a copy of the test's database."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

from tests.concurrency.fulfilments import scratch_database
from tests.recovery.stack import Stack, running


@pytest.fixture(scope="package")
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Rows that processes write are not ours to roll back, so they go with the copy."""
    with django_db_blocker.unblock(), scratch_database():
        yield
        connections.close_all()


@pytest.fixture(scope="package")
def crew(copy: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Two workers, two beats, a broker and a provider, at work from the first test to the last."""
    with running(Stack(tmp_path_factory.mktemp("crew"))) as stack:
        stack.start_all()
        yield stack
