"""`idempotency` and `fulfilment` on somebody else's ledger, without the service they come with."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import psycopg
import pytest
from standardwebhooks import Webhook

from tests.adoption.project import BANK_SECRET, Project, staff_client

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]

LOST = 1313  # cents: the bank's answer is lost


@pytest.fixture(scope="module")
def address(ledger: Project) -> Iterator[str]:
    with ledger.served() as address:
        yield address


@pytest.fixture
def client(address: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=address, timeout=30) as client:
        yield client


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


def payouts(ledger: Project, amount: int) -> list[dict[str, Any]]:
    """The bank's own books."""
    lines = (ledger.folder / "bank.books").read_text().splitlines()
    return [payout for payout in map(json.loads, lines) if payout["amount"] == amount]


def test_the_same_key_in_two_tenants_is_two_invoices(client: httpx2.Client) -> None:
    north, again = invoice(client, "k", amount=5), invoice(client, "k", amount=5)
    south = invoice(client, "k", amount=5, tenant="south")
    assert (north.status_code, south.status_code) == (201, 201), north.text
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.content == north.content
    assert south.json() != north.json(), "a tenant got another tenant's answer"
    assert invoice(client, "k", amount=5, tenant="").status_code == 401


def test_an_event_that_comes_three_times_pays_out_once(
    ledger: Project, client: httpx2.Client
) -> None:
    number = invoice(client, "k-paid", amount=700).json()["number"]
    for _ in range(3):
        assert report(client, "evt_1", "payment.succeeded", reference=number, amount=700) == 200
        ledger.manage("run_sweeps", "--once")
    assert state(ledger, number) == "paid out"
    assert len(payouts(ledger, 700)) == 1, "the bank paid another number of times than once"


def test_a_lost_answer_waits_in_the_queue_until_the_bank_reports(
    ledger: Project, client: httpx2.Client, address: str
) -> None:
    number = invoice(client, "k-lost", amount=LOST).json()["number"]
    assert report(client, "evt_2", "payment.succeeded", reference=number, amount=LOST) == 200
    ledger.manage("run_sweeps", "--once")
    assert state(ledger, number) == "open", "a guess was taken for a fact"
    with staff_client(address, "staff") as browser:
        queue = browser.get("/admin/fulfilment/reconciliation/")
        assert queue.status_code == 200, queue.text[:3000]
        assert "13.13" in queue.text
        case = re.search(r"/admin/fulfilment/reconciliation/\d+/change/", queue.text)
        assert case is not None, queue.text
        page = browser.get(case[0])
        assert page.status_code == 200, page.text[:3000]
        assert "no answer within 10 s" in page.text
        assert browser.get("/static/fulfilment/admin.css").status_code == 200
        assert browser.get("/admin/").status_code == 200
    [payout] = payouts(ledger, LOST)
    said = {"reference": payout["reference"], "amount": LOST, "currency": "EUR"}
    assert report(client, "evt_3", "transfer.succeeded", **said) == 200
    ledger.manage("run_sweeps", "--once")
    assert state(ledger, number) == "paid out"
    assert len(payouts(ledger, LOST)) == 1


def test_an_event_with_a_wrong_signature_is_not_believed(client: httpx2.Client) -> None:
    headers = {"webhook-id": "e", "webhook-timestamp": "1", "webhook-signature": "v1,no"}
    assert client.post("/hooks/webhooks/bank", content=b"{}", headers=headers).status_code in (
        400,
        401,
    )


def test_its_checks_and_commands_run(ledger: Project) -> None:
    assert "no issues" in ledger.manage("check", "--database", "default", "--fail-level", "WARNING")
    ledger.manage("makemigrations", "--check", "--dry-run")
    ledger.manage("sweep_idempotency")
