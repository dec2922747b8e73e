"""Events that fit nothing yet, or can start nothing: parked, given up, or a reason to ask."""

from datetime import timedelta

import pytest

from fulfilment import store
from fulfilment.connectors.base import LookUp
from fulfilment.models import Evidence, ProviderEvent
from fulfilment.webhooks.applying import apply, apply_due
from tests.integration.fulfilment.support import InMemory, now
from tests.integration.webhooks.support import about, alerts, deliver, due, event, stored, unknown

pytestmark = pytest.mark.django_db


def test_an_event_before_its_fulfilment_is_parked_and_applied_after_it_was_made(books) -> None:
    from fulfilment.states import reference_of

    reference = reference_of("transfer:later", connector="memory", generation=1)
    body = event(reference=reference)
    assert deliver(body).status_code == 200
    apply_due()
    assert stored(body).status == "parked"
    assert stored(body).next_check_at > store.now()
    row = unknown(payment_id="transfer:later")
    due()
    apply_due()
    assert now(row).state == "fulfilled"
    assert stored(body).status == "applied"


def test_a_parked_event_is_asked_about_ever_more_rarely(settings) -> None:
    settings.FULFILMENT["PARK_SCHEDULE"] = tuple(timedelta(minutes=m) for m in (1, 10, 100))
    body = event(reference="nobody")
    deliver(body)
    waits = []
    for _ in range(4):
        due()
        at = store.now()
        apply(stored(body).pk)
        waits.append(round((stored(body).next_check_at - at).total_seconds() / 60))
    assert waits == [1, 10, 100, 100]
    assert stored(body).checks == 4


def test_an_event_that_fits_nothing_is_given_up_with_an_alert(settings, caplog) -> None:
    body = event(reference="nobody")
    deliver(body)
    apply_due()
    settings.FULFILMENT["DEAD_AFTER"] = timedelta(microseconds=1)
    due()
    apply_due()
    apply_due()
    assert alerts(caplog) == ["event_dead"], "one alert, and one only"
    assert stored(body).status == "dead"
    assert deliver(body).status_code == 200, "the sender would go on for days"


def test_an_event_without_a_reference_is_given_up_at_once(caplog) -> None:
    body = event(reference=None)
    deliver(body)
    apply_due()
    assert stored(body).status == "dead"
    assert alerts(caplog) == ["event_dead"]


def test_an_ignored_event_is_never_applied() -> None:
    row = unknown()
    body = about(row, "transfer.fee_adjusted")
    deliver(body)
    apply(stored(body).pk)
    assert apply_due() == 0
    assert stored(body).status == "ignored"


# --- who starts it ---------------------------------------------------------------------------------


@pytest.fixture
def literal_secret(provider) -> None:
    """A provider whose signature does not cover the body."""
    provider.promises(webhook_authenticates_body=False)


@pytest.mark.usefixtures("literal_secret")
def test_a_body_that_is_not_authenticated_only_makes_us_ask(provider, books, settings) -> None:
    row = unknown()
    body = about(row)  # says done
    deliver(body)
    apply_due()
    assert provider.questions == [row.reference]
    assert now(row).state == "needs_reconciliation", "a body that anybody could write was believed"
    assert not Evidence.objects.filter(source="webhook").exists()
    assert stored(body).status == "applied"
    provider.books[row.reference] = row.amount
    settings.FULFILMENT["PARK_SCHEDULE"] = (timedelta(microseconds=1),)  # it may be asked again
    again = about(row, "transfer.failed")
    deliver(again)
    apply_due()
    assert now(row).state == "fulfilled", "what the provider says when asked is what counts"


@pytest.mark.usefixtures("literal_secret")
def test_where_the_provider_cannot_be_asked_just_now_the_event_waits(provider, settings) -> None:
    row = unknown()
    provider.can_be_asked = False
    body = about(row)
    deliver(body)
    apply_due()
    assert stored(body).status == "parked"
    provider.can_be_asked = True
    provider.books[row.reference] = row.amount
    settings.FULFILMENT["PARK_SCHEDULE"] = (timedelta(microseconds=1),)  # it may be asked again
    due()
    apply_due()
    assert (now(row).state, stored(body).status) == ("fulfilled", "applied")


@pytest.mark.usefixtures("literal_secret")
def test_where_the_provider_can_never_be_asked_the_event_is_given_up(provider) -> None:
    row = unknown()
    provider.promises(lookup_by_reference=False)
    body = about(row)
    deliver(body)
    apply_due()
    assert stored(body).status == "dead"
    assert not Evidence.objects.filter(source="webhook").exists()


@pytest.mark.usefixtures("literal_secret")
def test_one_question_is_enough_for_a_hundred_events_about_one_payment(provider, books) -> None:
    row = unknown()
    provider.books[row.reference] = row.amount
    for _ in range(100):
        deliver(about(row))
    apply_due()
    assert provider.questions == [row.reference], "each event asked for itself"
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert set(ProviderEvent.objects.values_list("status", flat=True)) == {"applied"}


@pytest.mark.usefixtures("literal_secret")
def test_a_provider_that_is_down_is_not_asked_once_for_every_event(provider) -> None:
    row = unknown()
    provider.can_be_asked = False
    for _ in range(20):
        deliver(about(row))
    apply_due()
    apply_due()
    assert provider.questions == [row.reference], "each event asked in vain for itself"
    assert set(ProviderEvent.objects.values_list("status", "checks")) == {("parked", 1)}


@pytest.mark.usefixtures("literal_secret")
def test_events_that_come_one_by_one_ask_again_only_after_a_while(provider, settings) -> None:
    row = unknown()
    provider.books[row.reference] = row.amount
    bodies = [about(row) for _ in range(10)]
    for body in bodies:
        deliver(body)
        apply(stored(body).pk)
    assert provider.questions == [row.reference]
    assert [stored(body).status for body in bodies] == ["applied", *["parked"] * 9]
    settings.FULFILMENT["PARK_SCHEDULE"] = (timedelta(microseconds=1),)  # a while is over
    due()
    apply_due()
    assert provider.questions == [row.reference] * 2, "those that waited asked one by one"
    assert set(ProviderEvent.objects.values_list("status", flat=True)) == {"applied"}


@pytest.mark.usefixtures("literal_secret")
def test_an_event_that_came_after_the_question_has_one_of_its_own(provider, monkeypatch) -> None:
    row, late = unknown(), []

    def look_up(connector: InMemory, reference: str) -> LookUp:
        if not late:
            late.append(about(row))
            deliver(late[0])
        return connector._provider.look_up(reference)

    monkeypatch.setattr(InMemory, "look_up", look_up)
    deliver(about(row))
    apply_due()
    assert stored(late[0]).status == "received", "it may speak of what the answer did not know"
