"""A retry that arrives damaged must never be told that a new key is safe: the first copy was paid."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from ledgerline import tokens
from ledgerline.bank.models import Account, Transfer
from tests.integration.bank.phone import B0, Phone

KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"
Send = Callable[..., Any]

DAMAGE: dict[str, tuple[str, dict[str, Any]]] = {
    "body cut": ("body_invalid", {"body": b'{"toAccount": "01'}),
    "body too large": ("body_too_large", {"body": b'"' + b"x" * 2**20 + b'"'}),
    "key lost": ("key_missing", {"headers": {"Idempotency-Key": None}}),
    "key garbled": ("key_invalid", {"headers": {"Idempotency-Key": "a,b"}}),
    "content type lost": ("unsupported_media_type", {"content_type": ""}),
    "content type changed": ("unsupported_media_type", {"content_type": "text/plain"}),
    "accepts no JSON": ("not_acceptable", {"headers": {"Accept": "text/html"}}),
    "method changed": ("method_not_allowed", {"method": "PUT"}),
    "address changed": ("not_found", {"path": "/v1/transfer"}),
    "credentials lost": ("unauthenticated", {"headers": {"Authorization": None}}),
}


@pytest.fixture
def send(ada: Account, bola: Account) -> Send:
    """One POST of Ada's payment, as her phone sends it but for what the test damages."""

    def sent(
        *,
        method: str = "POST",
        path: str = "/v1/transfers",
        body: bytes = json.dumps(B0).encode(),
        content_type: str = "application/json",
        headers: dict[str, str | None] | None = None,
    ) -> Any:
        own = {"Authorization": f"Bearer {tokens.issue(ada.owner)}", "Idempotency-Key": KEY}
        whole = {name: value for name, value in (own | (headers or {})).items() if value}
        client = Client(raise_request_exception=False)
        return client.generic(method, path, body, content_type=content_type, headers=whole)

    return sent


@pytest.mark.parametrize(("code", "damage"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_retry_of_a_payment_does_not_call_a_new_key_safe(
    send: Send, code: str, damage: dict[str, Any]
) -> None:
    assert send().status_code == 201
    damaged = send(**damage).json()
    assert damaged["code"] in {code, "key_reused"}
    assert damaged["safe_new_key"] is False, f"{code} invites a second payment"
    assert damaged["retry"] != "new_key" or damaged["code"] == "key_reused"
    again = send()
    assert (again.status_code, again["Idempotent-Replayed"]) == (201, "true")
    assert Transfer.objects.count() == 1


def test_input_refused_under_an_owned_claim_calls_a_new_key_safe(send: Send) -> None:
    wrong = json.dumps(B0 | {"amount": "10000"}).encode()
    refused = send(body=wrong).json()
    assert (refused["code"], refused["safe_new_key"]) == ("invalid", True)
    assert send().status_code == 201, "the key was not free again"


def test_input_refused_without_a_claim_does_not(ada: Account) -> None:
    refused = Phone(ada).get("/v1/transfers?limit=x").json()
    assert (refused["code"], refused["safe_new_key"]) == ("invalid", False)


def test_every_answer_without_credentials_says_the_same(send: Send) -> None:
    nobody = {"Authorization": None}
    texts = {send(method=method, headers=nobody).json()["title"] for method in ("GET", "POST")}
    assert texts == {"The request carries no valid credentials."}


@pytest.mark.parametrize("damage", [d for _, d in DAMAGE.values()], ids=DAMAGE)
def test_a_first_copy_that_was_damaged_leaves_its_key_to_the_good_one(
    send: Send, damage: dict[str, Any]
) -> None:
    assert send(**damage).status_code >= 400
    good = send()
    assert good.status_code == 201, f"{good.content!r}: a refused request has kept its key"
    assert "Idempotent-Replayed" not in good


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "GET", "DELETE"])
def test_another_method_leaves_the_key_to_the_post(send: Send, method: str) -> None:
    assert send(method=method).status_code < 500
    assert send().status_code == 201, f"{method} has used up the key"
