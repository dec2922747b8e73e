"""`idempotency` and `fulfilment` on somebody else's ledger, without the service they come with."""

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import psycopg
import pytest
from standardwebhooks import Webhook

from fulfilment.testing import FakeProvider, Payment
from tests.adoption.project import BANK_SECRET, CHECKS, Project, staff_client

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def address(ledger: Project) -> Iterator[str]:
    """The web server; beside it runs what does the work of beat and workers, without a broker."""
    with ledger.served() as address, ledger.running("run_sweeps"):
        yield address


@pytest.fixture
def client(address: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=address, timeout=30) as client:
        yield client


@pytest.fixture
def bank(ledger: Project) -> FakeProvider:
    """The bank that the project's processes pay by."""
    return FakeProvider(ledger.folder / "bank.books", name="bank")


def invoice(
    client: httpx2.Client, key: str, *, amount: int, tenant: str = "north"
) -> httpx2.Response:
    headers = {"Idempotency-Key": key, "X-Tenant": tenant, "X-Person": "ada"}
    return client.post("/invoices", json={"amount": amount}, headers=headers)


def report(client: httpx2.Client, event: str, kind: str, **data: Any) -> int:
    """One signed delivery of the bank's, as it would be sent again and again."""
    body = json.dumps({"id": event, "type": kind, "data": data})
    now = datetime.now(UTC)
    signed = {
        "webhook-id": event,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(BANK_SECRET).sign(event, now, body),
    }
    return client.post("/hooks/webhooks/bank", content=body, headers=signed).status_code


def state(ledger: Project, number: str) -> str:
    with psycopg.connect(ledger.database) as connection:
        query = "SELECT state FROM shop_invoice WHERE number = %s"
        return str((connection.execute(query, [number]).fetchone() or ("",))[0])


def waiting_events(ledger: Project) -> list[Any]:
    with psycopg.connect(ledger.database) as connection:
        return connection.execute("SELECT FROM provider_event WHERE applied_at IS NULL").fetchall()


def fulfilments(ledger: Project) -> set[str]:
    with psycopg.connect(ledger.database) as connection:
        return {row[0] for row in connection.execute("SELECT state FROM fulfilment").fetchall()}


def wait_for(what: str, happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not come: is `run_sweeps` running?")
        time.sleep(0.05)


def payouts(bank: FakeProvider, amount: int) -> list[Payment]:
    """The bank's own books."""
    return [payment for payment in bank.payments() if payment.amount == amount]


def test_the_same_key_in_two_tenants_is_two_invoices(client: httpx2.Client) -> None:
    north, again = invoice(client, "k", amount=5), invoice(client, "k", amount=5)
    south = invoice(client, "k", amount=5, tenant="south")
    assert (north.status_code, south.status_code) == (201, 201), north.text
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.content == north.content
    assert south.json() != north.json(), "a tenant got another tenant's answer"
    assert invoice(client, "k", amount=5, tenant="").status_code == 401


def test_an_event_that_comes_three_times_pays_out_once(
    ledger: Project, bank: FakeProvider, client: httpx2.Client
) -> None:
    number = invoice(client, "k-paid", amount=700).json()["number"]
    for _ in range(2):
        assert report(client, "evt_1", "payment.succeeded", reference=number, amount=700) == 200
    wait_for("the payout", lambda: state(ledger, number) == "paid out")
    assert report(client, "evt_1", "payment.succeeded", reference=number, amount=700) == 200
    assert report(client, "evt_1b", "payment.succeeded", reference=number, amount=700) == 200
    wait_for("the events", lambda: not waiting_events(ledger))
    assert len(payouts(bank, 700)) == 1, "the bank paid another number of times than once"


def test_a_lost_answer_waits_in_the_queue_until_the_bank_reports(
    ledger: Project, bank: FakeProvider, client: httpx2.Client, address: str
) -> None:
    bank.on_send("answer_lost")
    bank.on_look_up("no_information", times=None)
    number = invoice(client, "k-lost", amount=1313).json()["number"]
    assert report(client, "evt_2", "payment.succeeded", reference=number, amount=1313) == 200
    wait_for("the call", lambda: payouts(bank, 1313))
    wait_for("the queue", lambda: "needs_reconciliation" in fulfilments(ledger))
    assert state(ledger, number) == "open", "a guess was taken for a fact"
    with staff_client(address, "staff") as browser:
        queue = browser.get("/admin/fulfilment/reconciliation/")
        assert queue.status_code == 200, queue.text[:3000]
        assert "13.13" in queue.text
        assert "Summary of the queue" in queue.text, "the template is not in the wheel"
        assert "Ledgerline" not in queue.text, "the service's own admin pages are in the app"
        case = re.search(r"/admin/fulfilment/reconciliation/\d+/change/", queue.text)
        assert case is not None, queue.text
        page = browser.get(case[0])
        assert page.status_code == 200, page.text[:3000]
        assert "it was lost on its way" in page.text
        assert browser.get("/static/fulfilment/admin.css").status_code == 200
        assert browser.get("/admin/").status_code == 200
    [payout] = payouts(bank, 1313)
    said = {"reference": payout.reference, "amount": 1313, "currency": "EUR"}
    assert report(client, "evt_3", "transfer.succeeded", **said) == 200
    wait_for("the verdict", lambda: state(ledger, number) == "paid out")
    assert len(payouts(bank, 1313)) == 1


def test_an_event_with_a_wrong_signature_is_not_believed(client: httpx2.Client) -> None:
    headers = {"webhook-id": "e", "webhook-timestamp": "1", "webhook-signature": "v1,no"}
    assert client.post("/hooks/webhooks/bank", content=b"{}", headers=headers).status_code in (
        400,
        401,
    )


def test_its_checks_and_commands_run(ledger: Project) -> None:
    said = ledger.manage(*CHECKS, "then", "sweep_idempotency")
    assert "no issues" in said
    assert "No changes detected" in said, "an app has a model without its migration"


def test_its_owner_can_test_with_the_helpers(ledger: Project) -> None:
    said = ledger.manage("test", "shop")
    assert "OK" in said
    assert "Ran 4 tests" in said
