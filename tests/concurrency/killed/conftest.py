"""The stage on which workers are struck down."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.concurrency.killed.stage import Stage, mother
from tests.concurrency.killed.times import impatient
from tests.connectors.sandbox import Sandbox
from tests.connectors.sandbox import sandbox as sandbox
from tests.integration.bank.conftest import customer
from tests.integration.webhooks.support import SECRET


@pytest.fixture
def stage(transactional_db: None, settings: Any, sandbox: Sandbox) -> Iterator[Stage]:
    webhooks = {"sandbox": {"CONNECTOR": "sandbox", "SECRETS": [SECRET], "LIVEMODE": False}}
    connectors = {"sandbox": sandbox.settings()}
    settings.FULFILMENT = impatient(
        settings.FULFILMENT | {"CONNECTORS": connectors, "WEBHOOKS": webhooks}
    )
    payer = customer("ada", number="0123456780", funds=100_000_000)
    with mother(sandbox) as process:
        yield Stage(payer, sandbox, process)
