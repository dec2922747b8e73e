"""One house for all tests here, on a copy of the test's database."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction

from tests.concurrency.fulfilments import scratch_database
from tests.concurrency.whole.house import Customer, House
from tests.integration.bank.conftest import customer
from tests.recovery.stack import DEADLINE, LEASE, MARGIN, running


@pytest.fixture(scope="package")
def _copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Rows that processes write are not ours to roll back, so they go with the copy."""
    with django_db_blocker.unblock(), scratch_database():
        yield
        connections.close_all()


@pytest.fixture(scope="package")
def house(_copy: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """At work from the first test to the last."""
    made = House(tmp_path_factory.mktemp("house"))
    with running(made.stack):
        worker = made.stack.worker("worker")
        made.stack.beat("beat")
        made.open()
        made.stack.ready(worker)
        yield made
        made.close()


@pytest.fixture
def _django_db_helper(house: House) -> None:
    """In place of pytest-django's: no transaction and no flush, for others are at work all the time."""


@pytest.fixture(autouse=True)
def _ours(house: House, settings: Any) -> Iterator[None]:
    """The same connector and times in this process, where people decide."""
    settings.FULFILMENT = settings.FULFILMENT | {
        "HINT": None,
        "CONNECTORS": {"sandbox": house.provider.settings(), "airtime": house.provider.settings()},
        "SECOND_PERSON_ABOVE": {"NGN": 40_000_00},
        "LEASE": timedelta(seconds=LEASE),
        "TOTAL_DEADLINE": timedelta(seconds=DEADLINE),
        "MARGIN": timedelta(seconds=MARGIN),
    }
    yield
    house.provider.clear_faults()


@pytest.fixture(scope="package")
def ada(house: House) -> Iterator[Customer]:
    """Who pays."""
    yield from somebody(house, "ada", number="4400000001")


def somebody(house: House, name: str, *, number: str) -> Iterator[Customer]:
    with transaction.atomic():
        made = Customer(house, customer(f"whole-{name}", number=number, funds=1_000_000_00))
    yield made
    made.leave()
