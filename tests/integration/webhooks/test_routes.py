"""Somebody paid, and an event says so: what it pays for is started with it, once."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection

import fulfilment
from fulfilment import Event, EventRefused
from fulfilment.dispatch import attempt
from fulfilment.models import Fulfilment, ProviderEvent
from fulfilment.webhooks.applying import apply_due
from tests.integration.fulfilment.support import now
from tests.integration.webhooks.support import alerts, deliver, due, event, stored

pytestmark = pytest.mark.django_db

PAID = "payment.succeeded"
REFERENCE = "c0ffee" * 5


def paid(**given: Any) -> bytes:
    metadata = {"phone": "08012345678"}
    ours = {"reference": REFERENCE, "status": "paid", "checkout_id": "chk_1", "metadata": metadata}
    return event(PAID, **(ours | given))


def order(said: Event) -> Mapping[str, Any]:
    assert said.trigger is not None
    return {
        "kind": "test",
        "payment_id": f"payment:{said.reference}",
        "connector": "airtime",
        "amount": said.amount,
        "currency": said.currency,
        "instruction": {"phone": said.trigger.metadata["phone"]},
    }


def routed(starter: Callable[[Event], Mapping[str, Any] | None]) -> None:
    fulfilment.route(PAID, starter)


def test_the_fulfilment_is_inserted_with_the_event_and_dispatched_once(provider) -> None:
    routed(order)
    body = paid()
    assert deliver(body).status_code == 200
    row = Fulfilment.objects.get()
    assert (row.payment_id, row.connector, row.amount) == (f"payment:{REFERENCE}", "airtime", 500)
    assert (row.generation, row.state, row.instruction) == (1, "pending", {"phone": "08012345678"})
    assert row.event_id == f"memory:{stored(body).dedupe_key}"
    assert row.started_by == "provider:memory"
    assert (stored(body).fulfilment, stored(body).applied_at) == (row, None)
    for _ in range(3):
        apply_due()
        attempt.run(row.pk)
    assert stored(body).status == "applied"
    assert provider.sends == [row.reference]
    assert now(row).state == "fulfilled"


def test_the_payment_is_no_evidence_for_what_it_pays_for(books) -> None:
    routed(order)
    deliver(paid())
    apply_due()
    row = Fulfilment.objects.get()
    assert row.state == "pending"
    assert not row.evidence.exists()


def test_a_later_event_of_the_payment_attaches_to_what_the_first_one_started() -> None:
    routed(order)
    bodies = [paid(), paid()]
    assert {deliver(body).status_code for body in bodies} == {200}
    apply_due()
    row = Fulfilment.objects.get()
    assert {e.fulfilment for e in ProviderEvent.objects.all()} == {row}
    assert {e.status for e in ProviderEvent.objects.all()} == {"applied"}


def test_only_a_white_listed_type_starts_anything() -> None:
    body = paid()
    assert deliver(body).status_code == 200
    apply_due()
    assert stored(body).status == "ignored"
    assert not Fulfilment.objects.exists()


def test_evidence_never_starts_anything() -> None:
    fulfilment.route("transfer.succeeded", order)
    body = event("transfer.succeeded", reference=REFERENCE, metadata={"phone": "1"})
    deliver(body)
    apply_due()
    assert not Fulfilment.objects.exists()
    assert stored(body).status == "parked"


def test_a_payment_that_is_not_known_yet_is_started_once_it_is() -> None:
    known: list[str] = []
    routed(lambda said: order(said) if said.reference in known else None)
    body = paid()
    assert deliver(body).status_code == 200
    apply_due()
    assert stored(body).status == "parked"
    assert not Fulfilment.objects.exists()
    known.append(REFERENCE)
    due()
    apply_due()
    assert stored(body).status == "applied"
    assert stored(body).fulfilment == Fulfilment.objects.get()


def test_a_starter_that_raises_keeps_no_event_out_and_is_asked_again() -> None:
    faults: list[Exception] = [RuntimeError("a bug"), KeyError("phone")]

    def starter(said: Event) -> Mapping[str, Any] | None:
        if faults:
            raise faults.pop()
        return order(said)

    routed(starter)
    body = paid()
    assert deliver(body).status_code == 200
    apply_due()
    assert stored(body).status == "parked"
    due()
    apply_due()
    assert stored(body).status == "applied"
    assert Fulfilment.objects.count() == 1


def test_what_the_starter_wrote_before_it_raised_is_undone() -> None:
    def starter(said: Event) -> Mapping[str, Any] | None:
        fulfilment.start(**(dict(order(said)) | {"event_id": "e", "actor": "x"}))
        raise RuntimeError("a bug")

    routed(starter)
    assert deliver(paid()).status_code == 200
    assert not Fulfilment.objects.exists()


def test_a_database_error_that_the_starter_hides_keeps_no_event_out() -> None:
    def starter(said: Event) -> Mapping[str, Any] | None:
        try:
            connection.cursor().execute("SELECT 1 / 0")
        except DatabaseError:
            return None
        raise AssertionError("unreachable")

    routed(starter)
    body = paid()
    assert deliver(body).status_code == 200
    assert stored(body).status == "received"


def test_an_outage_inside_the_starter_is_the_senders_to_try_again() -> None:
    def starter(said: Event) -> Mapping[str, Any] | None:
        raise OperationalError("canceling statement due to lock timeout")

    routed(starter)
    assert deliver(paid()).status_code == 503
    assert not ProviderEvent.objects.exists()


def test_what_can_never_be_started_is_given_up_at_once_with_an_alert(caplog) -> None:
    def starter(said: Event) -> Mapping[str, Any] | None:
        raise EventRefused("The payment asked for 400 NGN.")

    routed(starter)
    body = paid()
    with caplog.at_level(logging.ERROR):
        assert deliver(body).status_code == 200
        apply_due()
    assert (stored(body).status, stored(body).reason) == ("dead", "The payment asked for 400 NGN.")
    assert alerts(caplog) == ["event_dead"]
    assert not Fulfilment.objects.exists()


def test_a_body_that_is_not_authenticated_starts_nothing(provider) -> None:
    provider.promises(webhook_authenticates_body=False)
    routed(order)
    body = paid()
    assert deliver(body).status_code == 200
    apply_due()
    assert stored(body).status == "dead"
    assert not Fulfilment.objects.exists(), "anybody could have started this"
