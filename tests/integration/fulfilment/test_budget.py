"""The provider's budget for look-ups is for all workers together, canaries included."""

import time
from contextlib import closing

import psycopg
import pytest
from django.db import connection

from fulfilment.reconcile import lookups
from fulfilment.reconcile.pace import Pacer
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
    began = time.monotonic()
    assert lookups.look_up_due() == 3
    asked = len(provider.questions)
    assert asked == 6, "each absence comes with its canary"
    # the last question's canary may follow at once; what comes after it would wait
    least = (asked - 2) / per_second
    took = time.monotonic() - began
    assert took >= least, f"{asked} questions in {took:.2f} s, at {per_second} a second allowed"


def test_what_is_owed_makes_the_next_question_wait() -> None:
    pacer = Pacer(per_second=20)
    pacer.wait("bank")
    pacer.owe("bank")
    began = time.monotonic()
    pacer.wait("bank")
    assert time.monotonic() - began >= 2 / 20 - 0.005, "the canary was free"
