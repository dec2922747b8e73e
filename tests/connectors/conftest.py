"""What all connector tests share."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors.receiver import SIGNING_SECRET, Receiver
from tests.connectors.receiver import receiver as receiver
from tests.connectors.sandbox import Sandbox
from tests.connectors.sandbox import sandbox as sandbox


@pytest.fixture
def reference() -> str:
    """A reference that no other test uses, in the form that ours have."""
    return secrets.token_hex(16)


@pytest.fixture
def reporting(receiver: Receiver, tmp_path: Path) -> Iterator[Sandbox]:
    """A provider that reports to `receiver`."""
    options = ("--webhook-url", receiver.url, "--webhook-secret", SIGNING_SECRET)
    provider = Sandbox(tmp_path / "reporting-books.jsonl", options=options)
    try:
        yield provider
    finally:
        provider.stop()
