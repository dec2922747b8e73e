"""The stage on which workers are struck down."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.concurrency.killed.stage import Stage, mother
from tests.concurrency.killed.times import impatient
from tests.connectors.sandbox import Sandbox
from tests.integration.bank.conftest import customer
from tests.integration.webhooks.support import SECRET


@pytest.fixture(scope="session")
def counterparty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One provider for all: no two of our references are the same."""
    provider = Sandbox(tmp_path_factory.mktemp("provider") / "books.jsonl")
    try:
        yield provider
    finally:
        provider.stop()


@pytest.fixture(scope="session")
def nursery(django_db_setup: None, counterparty: Sandbox) -> Iterator[Any]:
    with mother(counterparty) as process:
        yield process


@pytest.fixture
def stage(transactional_db: None, settings: Any, counterparty: Sandbox, nursery: Any) -> Stage:
    webhooks = {"sandbox": {"CONNECTOR": "sandbox", "SECRETS": [SECRET], "LIVEMODE": False}}
    connectors = {"sandbox": counterparty.settings()}
    settings.FULFILMENT = impatient(
        settings.FULFILMENT | {"CONNECTORS": connectors, "WEBHOOKS": webhooks}
    )
    payer = customer("ada", number="0123456780", funds=100_000_000)
    return Stage(payer, counterparty, nursery)
