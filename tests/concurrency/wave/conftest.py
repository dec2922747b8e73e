"""Two provider processes, and the test's own process on the settings of the workers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fulfilment
from fulfilment import handlers
from tests.concurrency.wave.times import impatient
from tests.connectors.sandbox import Sandbox
from tests.connectors.sandbox import sandbox as sandbox
from tests.integration.fulfilment.support import Books


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Sandbox]:
    """The provider that will freeze."""
    provider = Sandbox(tmp_path / "frozen-books.jsonl")
    try:
        yield provider
    finally:
        provider.stop()


@pytest.fixture(autouse=True)
def _ours(
    transactional_db: None,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    sandbox: Sandbox,
    dead: Sandbox,
) -> None:
    settings.FULFILMENT = impatient(
        settings.FULFILMENT, url=sandbox.url, frozen=dead.url, secret=sandbox.secret
    )
    monkeypatch.setattr(handlers, "_registered", dict(handlers._registered))
    fulfilment.register("test", Books().handlers())
