"""One row per connector says for all processes when it may be asked, and whether it answers."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from fulfilment import store
from fulfilment.models import ConnectorStanding
from fulfilment.reconcile import budget
from tests.concurrency.fulfilments import at_once

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def limits(settings: Any, world: None) -> None:
    more = {"LOOKUPS_PER_SECOND": 4.0, "BREAKER_AFTER": 3, "BREAKER_OPEN": timedelta(seconds=30)}
    settings.FULFILMENT = settings.FULFILMENT | more


def fail(times: int) -> None:
    for _ in range(times):
        budget.heard("bank", informed=False)


def end_rest() -> None:
    row = ConnectorStanding.objects.filter(pk="bank")
    row.update(open_until=F("open_until") - timedelta(seconds=31))


@pytest.mark.django_db
def test_a_turn_that_is_further_off_than_one_would_wait_is_not_taken() -> None:
    assert budget.take("bank", patience=SECOND)
    assert budget.take("bank", patience=SECOND), "a quarter of a second was too long"
    before = ConnectorStanding.objects.get().free_at
    assert not budget.take("bank", patience=timedelta(0))
    assert ConnectorStanding.objects.get().free_at == before, "nobody asked, and it was paid for"
    assert budget.take("other", patience=timedelta(0)), "it waits for another provider's turns"


@pytest.mark.django_db(transaction=True)
def test_callers_at_once_get_turns_of_their_own(settings: Any) -> None:
    """Twelve at fifty a second; the last turn is eleven distances after the first."""
    settings.FULFILMENT = settings.FULFILMENT | {"LOOKUPS_PER_SECOND": 50.0}
    began = store.now()
    told = at_once(*[lambda: budget.take("bank", patience=SECOND)] * 12)
    assert told == [True] * 12
    took = store.now() - began
    assert took >= timedelta(seconds=11 / 50), f"twelve turns in {took}: some were given out twice"


@pytest.mark.django_db
def test_failures_in_a_row_close_the_way_and_an_answer_opens_it() -> None:
    fail(2)
    assert budget.may_call("bank")
    budget.heard("bank", informed=True)
    fail(2)
    assert budget.may_call("bank"), "an answer in between did not count"
    fail(1)
    assert not budget.may_call("bank")
    assert budget.open_until("bank") is not None
    assert budget.may_call("other"), "one dead provider stopped another"
    budget.heard("bank", informed=True)
    assert budget.may_call("bank")


@pytest.mark.django_db(transaction=True)
def test_of_all_who_come_after_the_rest_one_calls() -> None:
    fail(3)
    end_rest()
    told = at_once(*[lambda: budget.may_call("bank")] * 8)
    assert sorted(map(str, told)) == ["False"] * 7 + ["True"], f"a wave of trials: {told}"


@pytest.mark.django_db
def test_while_all_goes_well_nothing_is_written() -> None:
    budget.heard("bank", informed=True)
    assert not ConnectorStanding.objects.exists()
    fail(1)
    budget.heard("bank", informed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text FROM fulfilment_connector")
        before = cursor.fetchone()
        with CaptureQueriesContext(connection) as said:
            budget.heard("bank", informed=True)
        cursor.execute("SELECT xmin::text FROM fulfilment_connector")
        assert cursor.fetchone() == before
    assert len(said) == 1
