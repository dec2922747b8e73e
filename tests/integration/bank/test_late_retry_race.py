"""A late retry and the verdict at the same moment: the key does not stay open for ever."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction

from fulfilment.models import Fulfilment
from ledgerline.bank import outcomes
from tests.integration.bank.conftest import customer
from tests.integration.bank.phone import B0, Phone

EXTERNAL = B0 | {"toBank": "058", "toAccount": "2233445566"}


@pytest.mark.django_db(transaction=True)
def test_a_retry_that_meets_the_verdict_gets_the_final_answer() -> None:
    """The key's row is gone, the transfer is open, and its verdict is just about to commit."""
    phone = Phone(customer("ada", number="0123456780", funds=100_000))
    phone.pay(EXTERNAL, key="late")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM idempotency_keys")
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            outcomes.on_fulfilled(Fulfilment.objects.get(), None)
            retry = pool.submit(closing, phone.pay, EXTERNAL, key="late")
            wait_until_blocked()
        answer = retry.result(timeout=10)
    assert answer.status_code == 201, (
        f"{answer.status_code}: the verdict found no key to complete and the retry deferred one "
        "that nobody will complete: transfers.locked() does not lock"
    )
    assert phone.pay(EXTERNAL, key="late").content == answer.content


def closing(call, *arguments, **keywords):
    """Runs in a thread of its own, with a connection of its own."""
    try:
        return call(*arguments, **keywords)
    finally:
        connections.close_all()


def wait_until_blocked() -> None:
    """Until a session of this database waits for a row's lock."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
        time.sleep(0.02)
