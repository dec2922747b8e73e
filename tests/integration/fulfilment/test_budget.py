"""The provider's budget for look-ups is for all workers together, canaries included."""

import time
from contextlib import closing

import psycopg
import pytest
from django.db import connection

from fulfilment.models import ConnectorStanding
from fulfilment.reconcile import lookups
from fulfilment.store import rounds
from tests.integration.fulfilment.support import due
from tests.integration.fulfilment.test_lookups import paid_before, unknown

pytestmark = pytest.mark.django_db


@pytest.fixture
def elsewhere():
    """The database session of another worker."""
    settings = connection.get_connection_params() | {"autocommit": True}
    for name in ("cursor_factory", "context", "prepare_threshold"):
        settings.pop(name, None)
    with closing(psycopg.connect(**settings)) as session:
        yield session


def test_a_round_that_begins_while_another_runs_asks_nobody(provider, elsewhere) -> None:
    due(unknown(provider, booked=True))
    elsewhere.execute(rounds.TRY_ALONE, {"name": "fulfilment.look_up"})
    assert lookups.look_up_due() == 0, "two rounds at once: the provider is asked twice as often"
    elsewhere.execute(rounds.NO_MORE_ALONE, {"name": "fulfilment.look_up"})
    assert lookups.look_up_due() == 1, "the round after it never came"


def test_a_round_that_ends_lets_the_next_one_in(provider, elsewhere) -> None:
    lookups.look_up_due()
    got = elsewhere.execute(rounds.TRY_ALONE, {"name": "fulfilment.look_up"}).fetchone()[0]
    assert got, "a finished round kept everybody else out"


def test_the_canary_counts_as_a_question(provider, settings) -> None:
    per_second = 4.0
    settings.FULFILMENT = settings.FULFILMENT | {"LOOKUPS_PER_SECOND": per_second}
    paid_before(provider)
    for _ in range(3):
        due(unknown(provider, booked=False))
    provider.questions.clear()
    ConnectorStanding.objects.all().delete()
    began = time.monotonic()
    assert lookups.look_up_due() == 3
    asked = len(provider.questions)
    assert asked == 6, "each absence comes with its canary"
    least = (asked - 1) / per_second
    took = time.monotonic() - began
    assert took >= least, f"{asked} questions in {took:.2f} s, at {per_second} a second allowed"
