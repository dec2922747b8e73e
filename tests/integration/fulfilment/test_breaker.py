"""A provider that does not answer is left alone by everybody, and waiting for it is no attempt."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from fulfilment.dispatch import attempt, sweep
from fulfilment.errors import NotAskedNow
from fulfilment.models import ConnectorStanding, Evidence, Fulfilment
from fulfilment.reconcile import budget, lookups
from tests.integration.fulfilment.support import due, held, now, start
from tests.integration.fulfilment.test_lookups import unknown

pytestmark = pytest.mark.django_db
REST = timedelta(seconds=30)


@pytest.fixture(autouse=True)
def limits(settings: Any, world: None) -> None:
    settings.FULFILMENT = settings.FULFILMENT | {"BREAKER_AFTER": 3, "BREAKER_OPEN": REST}


def broken(provider: Any, fault: str = "not_sent") -> None:
    """Three calls that brought no answer."""
    provider.will.extend([fault] * 3)
    for _ in range(3):
        attempt.run(start().pk)
    provider.sends.clear()


def end_rest() -> None:
    ConnectorStanding.objects.update(open_until=F("open_until") - REST)


@pytest.mark.parametrize("fault", ["not_sent", "lose_request"])
def test_no_payment_is_sent_while_its_provider_does_not_answer(provider, fault: str) -> None:
    broken(provider, fault)
    row = start()
    attempt.run(row.pk)
    assert provider.sends == [], "the fourth call went out: dispatch did not ask first"
    assert (now(row).state, row.attempts.count()) == ("pending", 0), "waiting was an attempt"
    assert (now(row).refusals, now(row).failed_starts) == (0, 0), "waiting was counted"


def test_the_rows_of_one_outage_do_not_come_back_as_one_wave(provider) -> None:
    broken(provider)
    rows = [start() for _ in range(20)]
    for row in rows:
        attempt.run(row.pk)
    until = budget.open_until("memory")
    assert until is not None
    again = sorted(now(row).next_check_at for row in rows)
    assert until <= again[0]
    assert again[-1] <= until + REST
    assert again[-1] - again[0] > REST / 3, "all of them are due at the same moment"


def test_one_payment_tries_and_its_success_lets_the_others_go(provider) -> None:
    broken(provider)
    end_rest()
    first, second = start(), start()
    provider.will.clear()
    attempt.run(first.pk)
    attempt.run(second.pk)
    assert [now(first).state, now(second).state] == ["fulfilled", "fulfilled"]


def test_a_try_that_fails_keeps_the_others_waiting(provider) -> None:
    broken(provider)
    end_rest()
    first, second = start(), start()
    provider.will.append("not_sent")
    attempt.run(first.pk)
    attempt.run(second.pk)
    assert provider.sends == [first.reference]


def test_a_refusal_is_an_answer(provider) -> None:
    broken(provider, "refuse")
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "fulfilled", "one payment above our balance stopped the others"


def test_look_ups_are_left_for_later_and_keep_their_place_in_the_schedule(provider) -> None:
    row = unknown(provider, booked=True)
    Fulfilment.objects.filter(pk=row.pk).update(checks=2)
    broken(provider)
    due(row)
    assert lookups.look_up_due() == 1
    assert provider.questions == []
    until = budget.open_until("memory")
    assert until is not None
    assert until <= now(row).next_check_at <= until + REST
    assert (now(row).checks, Evidence.objects.filter(source="lookup").count()) == (2, 0)


def test_the_deadline_opens_a_case_although_nobody_asks(provider, settings) -> None:
    row = unknown(provider, booked=True)
    broken(provider)
    settings.FULFILMENT["CASE_DEADLINE"] = timedelta(minutes=1)
    due(row)
    lookups.look_up_due()
    assert row.cases.get().reason == "deadline", "an outage of a day reaches nobody"


def test_look_ups_without_information_open_it_for_dispatch_as_well(provider) -> None:
    provider.can_be_asked = False
    for row in [unknown(provider, booked=True) for _ in range(3)]:
        due(row)
    lookups.look_up_due()
    attempt.run(start().pk)
    assert provider.sends == []


def test_a_dead_provider_keeps_no_other_waiting(provider) -> None:
    broken(provider)
    other = start(connector="other")
    attempt.run(other.pk)
    assert now(other).state == "fulfilled"


def test_whoever_may_not_ask_now_is_told_until_when(provider) -> None:
    row = unknown(provider, booked=True)
    broken(provider)
    with pytest.raises(NotAskedNow, match=r"no answer several times in a row.*\d\d:\d\d:\d\d UTC"):
        lookups.query(row, actor="ada")


def test_a_person_waits_two_seconds_at_most_for_a_turn(provider, settings) -> None:
    settings.FULFILMENT["LOOKUPS_PER_SECOND"] = 0.1
    row = unknown(provider, booked=True)
    lookups.query(row, actor="ada")
    with pytest.raises(NotAskedNow, match="Try again in a few seconds"):
        lookups.query(row, actor="ada")
    assert len(provider.questions) == 1, "a question beyond the budget"


def test_rows_of_one_provider_do_not_stand_in_the_queue_for_the_turns_of_another(
    provider, settings
) -> None:
    settings.FULFILMENT["LOOKUPS_PER_SECOND"] = 5.0
    rows = [unknown(provider, booked=True) for _ in range(3)]
    rows.append(start(connector="other"))
    held(rows[-1], sent=True)
    sweep.sweep()
    for row in rows:
        due(row)
    lookups.look_up_due()
    assert provider.questions.index(rows[-1].reference) <= 1, "the last one due came last"
    assert len(provider.questions) == 4


def test_rows_of_one_provider_do_not_wait_for_all_the_rows_of_a_slow_one(
    provider, settings
) -> None:
    """Asking takes longer than the turns are apart, so nobody is ever too early for the next one."""
    settings.FULFILMENT["LOOKUPS_PER_SECOND"] = 1e5
    settings.FULFILMENT["CONNECTORS"]["third"] = settings.FULFILMENT["CONNECTORS"]["memory"]
    rows = [unknown(provider, booked=True) for _ in range(4)]
    for name in ("other", "third"):
        rows.append(start(connector=name))
        held(rows[-1], sent=True)
    sweep.sweep()
    ConnectorStanding.objects.all().delete()
    for row in rows:
        due(row)
    lookups.look_up_due()
    order = [provider.questions.index(row.reference) for row in rows]
    assert order == [0, 3, 4, 5, 1, 2], "a provider with many due rows has all the time of a round"
