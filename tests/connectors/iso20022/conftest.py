"""The bank as a process of its own, a faulty wire to it, and books that count the outcomes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fulfilment
from fulfilment import handlers
from tests.connectors.iso20022 import wires
from tests.connectors.iso20022.bank import MockBank, running
from tests.connectors.iso20022.payments import Town
from tests.integration.fulfilment.support import Books


@pytest.fixture(scope="package")
def standing_bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockBank]:
    with running(tmp_path_factory.mktemp("bank")) as bank:
        yield bank


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> Books:
    made = Books()
    monkeypatch.setattr(handlers, "_registered", dict(handlers._registered))
    fulfilment.register("test", made.handlers())
    return made


@pytest.fixture
def town(
    standing_bank: MockBank, books: Books, settings: Any, transactional_db: None
) -> Iterator[Town]:
    """For tests that leave the bank's clock alone."""
    with wires.to(standing_bank.port) as wire:
        yield Town(standing_bank, wire, books, settings)


@pytest.fixture
def own_town(tmp_path: Path, books: Books, settings: Any, transactional_db: None) -> Iterator[Town]:
    """With a bank that may be stopped, told how to behave, and moved in time."""
    with running(tmp_path) as bank, wires.to(bank.port) as wire:
        yield Town(bank, wire, books, settings)
