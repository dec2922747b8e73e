"""A fake bank, and rows that go through it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from fulfilment.connectors.base import Instruction
from fulfilment.models import Fulfilment
from fulfilment.testing import (
    FakeProvider,
    dispatch_now,
    fake_connector,
)
from tests.integration.fulfilment import support
from tests.integration.fulfilment.support import now


@pytest.fixture
def bank() -> Iterator[FakeProvider]:
    with fake_connector("bank") as bank:
        yield bank


def start(**given: Any) -> Fulfilment:
    return support.start(connector="bank", **given)


def sent(bank: FakeProvider, word: Any = "done", **given: Any) -> Fulfilment:
    """A row that was sent once, with this outcome."""
    row = start(**given)
    bank.on_send(word, reference=row.reference)
    dispatch_now()
    return now(row)


def order(reference: str = "r", amount: int = 500, *, seconds: float = 1) -> Instruction:
    deadline = timedelta(seconds=seconds)
    return Instruction(reference=reference, amount=amount, currency="NGN", deadline=deadline)
