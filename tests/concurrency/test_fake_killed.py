"""Processes killed and frozen inside an attempt, with the fake's books as the oracle."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.urls import include, path

from fulfilment.models import Fulfilment, ProviderEvent
from fulfilment.testing import (
    FakeProvider,
    assert_books_agree,
    assert_nothing_paid,
    assert_paid_once,
    dispatch_now,
    fake_connector,
    frozen_at,
    killed_at,
    make_due,
    pass_time,
    run_for,
    run_round,
)
from tests.integration.fulfilment.conftest import books, provider  # noqa: F401
from tests.integration.fulfilment.support import Books, now, start

pytestmark = [
    pytest.mark.django_db(transaction=True, available_apps=["fulfilment"]),
    pytest.mark.processes,
]

LEASE = timedelta(seconds=31)


urlpatterns = [path("hooks/", include("fulfilment.urls"))]  # nothing that needs another app


@pytest.fixture
def bank(settings: Any, provider: object, books: Books) -> Iterator[FakeProvider]:  # noqa: F811
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
    with fake_connector("bank") as bank:
        yield bank


@pytest.fixture
def row(bank: FakeProvider) -> Fulfilment:
    canary, row = start(connector="bank"), start(connector="bank")
    Fulfilment.objects.filter(pk=row.pk).update(next_check_at=now(row).created_at + LEASE)
    dispatch_now()
    assert_paid_once(bank, canary)
    make_due(row)
    return row


@pytest.mark.parametrize(
    ("point", "paid"), [("dispatch.claimed", 0), ("dispatch.marked", 0), ("dispatch.answered", 1)]
)
def test_a_killed_worker_pays_once_in_the_end(
    bank: FakeProvider, row: Fulfilment, point: str, paid: int
) -> None:
    killed_at(point, dispatch_now)
    assert now(row).state == "dispatching"
    assert len(bank.payments(row.reference)) == paid, "the books forgot what a killed process paid"
    run_for(timedelta(hours=3))
    assert now(row).state == "fulfilled"
    assert_paid_once(bank, row)
    assert_books_agree(bank)


def test_an_event_outlives_the_process_that_took_it(bank: FakeProvider, row: Fulfilment) -> None:
    bank.on_send("answer_lost")
    dispatch_now()
    killed_at("webhook.committed", lambda: bank.report(row.reference))
    assert ProviderEvent.objects.count() == 1
    bank.report(row.reference)
    assert run_round().applied == 1
    assert now(row).state == "fulfilled"


def test_a_worker_that_wakes_up_after_its_lease_decides_nothing(
    bank: FakeProvider, row: Fulfilment
) -> None:
    bank.on_send("declined")
    with frozen_at("dispatch.answered", dispatch_now):
        pass_time(LEASE)
        assert run_round().swept == 1
        assert now(row).state == "needs_reconciliation"
    assert now(row).state == "failed", "its late answer is evidence, and was dropped"
    assert_nothing_paid(bank, row)


def test_time_that_another_transaction_keeps_from_passing_is_named(
    bank: FakeProvider, row: Fulfilment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fulfilment.testing.passing._PATIENCE", "200ms")
    bank.on_send("answer_lost")
    dispatch_now()
    with (
        frozen_at("webhook.inserted", lambda: bank.report(row.reference)),
        pytest.raises(AssertionError, match="another connection is in the middle of a transaction"),
    ):
        pass_time(LEASE)


def test_a_point_that_is_never_passed_is_named(bank: FakeProvider) -> None:
    with pytest.raises(AssertionError, match=r"without passing dispatch\.marked; it said .*due"):
        killed_at("dispatch.marked", dispatch_now)
    with pytest.raises(
        ValueError, match=r"no point 'dispatch\.begun'; there are dispatch\.claimed"
    ):
        killed_at("dispatch.begun", dispatch_now)
    with transaction.atomic(), pytest.raises(AssertionError, match="runs in a transaction"):
        killed_at("dispatch.marked", dispatch_now)
