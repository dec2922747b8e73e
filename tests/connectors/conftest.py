"""What all connector tests share."""

import secrets

import pytest

from tests.connectors.sandbox import sandbox as sandbox


@pytest.fixture
def reference() -> str:
    """A reference that no other test uses, in the form that ours have."""
    return secrets.token_hex(16)
