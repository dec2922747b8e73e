"""What is done is asked about for as long as its provider may give it back."""

from datetime import timedelta

import pytest
from django.db import connection

from fulfilment import store
from fulfilment.dispatch import attempt
from fulfilment.models import Case, Fulfilment
from fulfilment.reconcile import casebook, lookups
from fulfilment.reconcile.evidence import Finding
from tests.integration.fulfilment.support import event, now, start

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def horizon(provider, settings) -> None:
    provider.promises(late_reversal_horizon=5 * DAY)
    # A short call: what was sent has settled by the time at which it is asked about.
    settings.FULFILMENT = settings.FULFILMENT | {
        "WATCH_EVERY": DAY,
        "TOTAL_DEADLINE": timedelta(milliseconds=1),
    }


@pytest.fixture
def paid(provider) -> Fulfilment:
    attempt.run(start().pk)  # the canary
    row = start()
    attempt.run(row.pk)
    provider.questions.clear()
    return now(row)


def pass_time(row: Fulfilment, age: timedelta) -> None:
    """As if the row had been decided longer ago, and were due now."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE fulfilment DISABLE TRIGGER USER")
        Fulfilment.objects.filter(pk=row.pk).update(
            decided_at=store.now() - age, recheck_at=store.now()
        )
        cursor.execute("ALTER TABLE fulfilment ENABLE TRIGGER USER")


def hours_until(row: Fulfilment) -> float | None:
    at = now(row).recheck_at
    return None if at is None else round((at - store.now()) / timedelta(hours=1), 1)


def test_what_is_done_is_asked_about_every_day_until_the_horizon_and_then_no_more(
    paid, provider
) -> None:
    assert hours_until(paid) == 24
    for age, again in ((1, 24), (4, 24), (4.5, 12), (5.1, None)):
        pass_time(paid, age * DAY)
        lookups.look_up_due()
        assert hours_until(paid) == again, f"after {age} days"
    assert provider.questions == [paid.reference] * 4


def test_what_came_back_after_days_is_reversed_without_an_event(paid, provider, books) -> None:
    provider.give_back(paid.reference)
    pass_time(paid, 2 * DAY)
    for _ in range(2):
        lookups.look_up_due()
    assert (now(paid).state, now(paid).recheck_at) == ("reversed", None)
    assert books.told == {"fulfilled": 2, "reversed": 1}


def test_without_a_horizon_nobody_is_asked(provider) -> None:
    provider.promises(late_reversal_horizon=None)
    row = start()
    attempt.run(row.pk)
    assert now(row).recheck_at is None


def test_a_provider_that_cannot_be_asked_is_not(provider) -> None:
    provider.promises(lookup_by_reference=False)
    row = start()
    attempt.run(row.pk)
    assert now(row).recheck_at is None


def test_a_provider_that_does_not_answer_is_asked_again_soon_and_also_after_the_horizon(
    paid, provider
) -> None:
    provider.can_be_asked = False
    pass_time(paid, 5.1 * DAY)
    lookups.look_up_due()
    assert hours_until(paid) == 0, "the last question would stay without an answer"
    pass_time(paid, 10 * DAY)
    lookups.look_up_due()
    assert hours_until(paid) is None, "a provider that is gone for good is asked for ever"


def test_done_and_then_not_found_is_a_case_once_the_absence_is_a_fact(
    paid, provider, books
) -> None:
    """The provider said yes and does not know it any more. One 404 may be a lagging replica's."""
    del provider.books[paid.reference]
    for asked in range(1, 4):
        assert not Case.objects.exists(), f"after {asked - 1} answers"
        pass_time(paid, DAY)
        lookups.look_up_due()
    assert (now(paid).state, books.told) == ("fulfilled", {"fulfilled": 2})
    case = Case.objects.get()
    assert case.reason == "conflict"
    assert "does not know it any more" in case.actions.get(action="opened").note


def test_open_payments_are_asked_about_first(paid, provider, settings) -> None:
    provider.will.extend(["lose_answer"])
    open_row = start()
    attempt.run(open_row.pk)
    pass_time(paid, DAY)
    Fulfilment.objects.filter(pk=open_row.pk).update(next_check_at=store.now())
    lookups.look_up_due()
    assert provider.questions == [open_row.reference, paid.reference]


def test_a_connector_that_was_removed_and_comes_back_is_asked_again(
    paid, provider, settings
) -> None:
    """A mistake in one deployment must not end the watch over everything that was paid."""
    with_it = settings.FULFILMENT
    settings.FULFILMENT = with_it | {"CONNECTORS": {}}
    pass_time(paid, DAY)
    lookups.look_up_due()
    assert (provider.questions, hours_until(paid)) == ([], 24)
    settings.FULFILMENT = with_it
    provider.give_back(paid.reference)
    pass_time(paid, 2 * DAY)
    lookups.look_up_due()
    assert now(paid).state == "reversed"


def test_what_a_person_decides_about_a_missing_connector_is_asked_about_once_it_is_back(
    provider, settings
) -> None:
    provider.will.extend(["lose_answer"])
    row = start()
    attempt.run(row.pk)
    settings.FULFILMENT = settings.FULFILMENT | {"CONNECTORS": {}}
    event(row, Finding.DONE)
    assert (now(row).state, hours_until(row)) == ("fulfilled", 24)


def test_what_vanished_and_was_judged_by_a_person_does_not_come_back_every_day(
    paid, provider
) -> None:
    del provider.books[paid.reference]
    for _ in range(3):
        pass_time(paid, DAY)
        lookups.look_up_due()
    casebook.close_case(paid, actor="staff:ngozi", note="the verdict stands")
    for _ in range(3):
        pass_time(paid, DAY)
        lookups.look_up_due()
    assert Case.objects.count() == 1, "the same absence asked a person again"
    provider.books[paid.reference] = paid.amount
    pass_time(paid, DAY)
    lookups.look_up_due()
    del provider.books[paid.reference]
    for _ in range(3):
        pass_time(paid, DAY)
        lookups.look_up_due()
    assert Case.objects.count() == 2, "it was found, and vanished again, and nobody heard of it"


def test_a_horizon_of_nothing_is_none(provider) -> None:
    provider.promises(late_reversal_horizon=timedelta(0))
    row = start()
    attempt.run(row.pk)
    assert now(row).recheck_at is None
