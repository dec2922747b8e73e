"""The sandbox provider, as a process of its own, reports to a server that really listens.

Its books are the oracle.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

import fulfilment
from fulfilment import Event
from fulfilment.connectors.sandbox import AirtimeConnector
from fulfilment.connectors.sandbox.checkouts import CheckoutDesk, Opened
from fulfilment.dispatch import attempt
from fulfilment.models import Case, Fulfilment, ProviderEvent
from fulfilment.webhooks.applying import apply_due
from tests.connectors.sandbox import Sandbox, until
from tests.integration.fulfilment.support import Books, now, start
from tests.integration.webhooks.support import SECRET

pytestmark = [
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:No directory at"),  # WhiteNoise: nothing is collected here
]


@pytest.fixture
def sandbox(live_server: Any, settings: Any, tmp_path: Path) -> Iterator[Sandbox]:
    """A provider that reports to us, and our connectors to it."""
    address = f"{live_server.url}/v1/webhooks/sandbox"
    options = ("--webhook-url", address, "--webhook-secret", SECRET)
    made = Sandbox(tmp_path / "books.jsonl", options=options)
    settings.FULFILMENT["CONNECTORS"] |= {
        "sandbox": made.settings(),
        "airtime": made.settings(CLASS=AirtimeConnector),
    }
    settings.FULFILMENT["WEBHOOKS"] = {
        "sandbox": {
            "CONNECTOR": "sandbox",
            "SECRETS": [SECRET],
            "LIVEMODE": False,
            "ACCOUNTS": {"acct_sandbox": ("sandbox", "airtime")},
        }
    }
    try:
        yield made
    finally:
        made.stop()
        connections.close_all()


def transfer(narration: str = "INV-1001") -> Fulfilment:
    instruction = {"bank": "058", "account": "0123456789", "narration": narration}
    return start(connector="sandbox", instruction=instruction)


def reported(reference: str, count: int = 1) -> list[ProviderEvent]:
    """The events about a reference, once so many have arrived."""
    rows = ProviderEvent.objects.filter(reference=reference).order_by("pk")
    until(lambda: rows.count() >= count, what=f"{count} event(s) about {reference} on record")
    return list(rows)


def test_a_payment_is_reported_and_the_report_changes_nothing(
    sandbox: Sandbox, books: Books
) -> None:
    row = transfer()
    attempt.run(row.pk)
    reported(row.reference)
    apply_due()
    assert [e.status for e in ProviderEvent.objects.all()] == ["applied"]
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert len(sandbox.payments(row.reference)) == 1
    assert not Case.objects.exists()


def test_the_event_of_a_call_that_still_runs_is_taken_and_agrees(
    sandbox: Sandbox, books: Books
) -> None:
    """The provider waits for our 200 before it answers the call."""
    row = transfer("sandbox:webhook_first")
    attempt.run(row.pk)
    [event] = reported(row.reference)
    assert now(row).state == "fulfilled", "the provider did not get its 200 during the call"
    apply_due()
    assert ProviderEvent.objects.get(pk=event.pk).status == "applied"
    assert (books.told, now(row).version) == ({"fulfilled": 1}, 2)


def test_an_event_settles_the_payment_whose_answer_was_lost(sandbox: Sandbox) -> None:
    row = transfer("sandbox:accept_then_reset")
    attempt.run(row.pk)
    assert now(row).state == "needs_reconciliation"
    reported(row.reference)
    apply_due()
    assert now(row).state == "fulfilled"
    assert [c["method"] for c in sandbox.calls(row.reference)] == ["POST"], "nobody had to ask"


def test_a_decline_is_reported_as_a_failure(sandbox: Sandbox, books: Books) -> None:
    row = transfer("sandbox:decline")
    attempt.run(row.pk)
    reported(row.reference)
    apply_due()
    assert (now(row).state, books.told) == ("failed", {"failed": 1})
    assert not Case.objects.exists()


def test_two_events_each_delivered_twice_at_once_settle_it_once(
    sandbox: Sandbox, books: Books
) -> None:
    row = transfer("sandbox:duplicate")
    attempt.run(row.pk)
    reported(row.reference, 2)
    apply_due()
    assert [e.status for e in ProviderEvent.objects.all()] == ["applied"] * 2
    assert books.told == {"fulfilled": 1}
    assert not Case.objects.exists()


def test_another_amount_is_never_posted(sandbox: Sandbox, books: Books) -> None:
    row = transfer("sandbox:wrong_amount")
    attempt.run(row.pk)
    reported(row.reference)
    apply_due()
    assert (now(row).state, books.told) == ("needs_reconciliation", {})
    assert Case.objects.get().reason == "conflict"


def test_one_event_delivered_thirty_times_at_once_is_answered_200_thirty_times(
    sandbox: Sandbox, books: Books
) -> None:
    row = transfer()
    attempt.run(row.pk)
    [event] = reported(row.reference)
    assert sandbox.deliver(event.dedupe_key, times=30) == [200] * 30
    apply_due()
    assert ProviderEvent.objects.count() == 1
    assert books.told == {"fulfilled": 1}


def test_two_bodies_under_one_id_are_both_kept(sandbox: Sandbox) -> None:
    row = transfer("sandbox:no_webhook")
    attempt.run(row.pk)
    data = {"reference": row.reference, "amount": 500, "currency": "NGN"}
    for kind in ("transfer.succeeded", "transfer.failed"):
        assert sandbox.make_event(kind, data, id="evt_twice")["status"] == 200
    assert ProviderEvent.objects.get().conflicts.count() == 1
    apply_due()
    assert now(row).state == "fulfilled"
    assert Case.objects.get().reason == "conflict"


def airtime(said: Event) -> Mapping[str, Any] | None:
    assert said.trigger is not None
    return {
        "kind": "test",
        "payment_id": f"payment:{said.reference}",
        "connector": "airtime",
        "amount": said.amount,
        "currency": said.currency,
        "instruction": {"phone": said.trigger.metadata["phone"]},
    }


def test_a_checkout_that_somebody_pays_buys_airtime_once(sandbox: Sandbox, books: Books) -> None:
    fulfilment.route("payment.succeeded", airtime)
    desk = CheckoutDesk(sandbox.settings())
    opened = desk.open("c" * 32, amount=500, currency="NGN", metadata={"phone": "08012345678"})
    assert isinstance(opened, Opened)
    for _ in range(2):
        sandbox.request("POST", f"/checkouts/{opened.id}/pay?format=json")
    [paid] = reported("c" * 32)
    sandbox.deliver(paid.dedupe_key, times=30)
    row = Fulfilment.objects.get()
    attempt.run(row.pk)
    reported(row.reference)
    apply_due()
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    sold = [p for p in sandbox.books()["payments"] if p["kind"] == "airtime"]
    assert [p["reference"] for p in sold] == [row.reference], (
        "not exactly one in the oracle's books"
    )
    assert {e.status for e in ProviderEvent.objects.all()} == {"applied"}
