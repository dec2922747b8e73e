"""A provider that signs events as the sandbox does, and whoever receives them."""

import base64
import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from standardwebhooks import Webhook

from fulfilment import rounds, store
from fulfilment.connectors.sandbox.webhooks import SandboxWebhooks
from fulfilment.models import Fulfilment, ProviderEvent
from tests.integration.fulfilment.support import InMemory, held, now, start

SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
ADDRESS = "/v1/webhooks/memory"


class Talking(InMemory):
    """The connector in memory, whose provider reports by itself."""

    webhooks = SandboxWebhooks()


def event(kind: str = "transfer.succeeded", **given: Any) -> bytes:
    """One event as the sandbox words it; `given` changes its members or, by name, its data."""
    names = {"id", "type", "account", "livemode", "created_at", "data"}
    members = {name: value for name, value in given.items() if name in names}
    said = {name: value for name, value in given.items() if name not in names}
    status = kind.rpartition(".")[2]
    name = said.pop("provider_id", "pay_1")
    data = {"id": name, "status": status, "amount": 500, "currency": "NGN"} | said
    whole = {
        "id": f"evt_{uuid4().hex}",
        "type": kind,
        "account": "acct_sandbox",
        "livemode": False,
        "created_at": "2026-03-01T12:00:00+00:00",
        "data": data,
    }
    return json.dumps(whole | members, separators=(",", ":")).encode()


def about(row: Fulfilment, kind: str = "transfer.succeeded", **given: Any) -> bytes:
    """What the provider reports of this fulfilment."""
    name = f"pay_{row.reference[:8]}"
    ours = {
        "reference": row.reference,
        "amount": row.amount,
        "currency": row.currency,
        "provider_id": name,
    }
    return event(kind, **(ours | given))


def signed(
    body: bytes, *, secret: str = SECRET, at: datetime | None = None, name: str = "evt_1"
) -> dict[str, str]:
    """The headers of a delivery, signed by the reference library."""
    at = at or datetime.now(UTC)
    return {
        "webhook-id": name,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(name, at, body.decode()),
    }


def deliver(
    body: bytes, headers: Mapping[str, str] | None = None, *, address: str = ADDRESS
) -> HttpResponse:
    """One delivery; exceptions of the view are answers, as for a real sender."""
    client = Client(raise_request_exception=False)
    return client.post(
        address, body, content_type="application/json", headers=headers or signed(body)
    )


def stored(body: bytes) -> ProviderEvent:
    """The row of this event; there is exactly one."""
    return ProviderEvent.objects.get(dedupe_key=json.loads(body)["id"])


def unknown(**given: Any) -> Fulfilment:
    """A fulfilment whose call went out, and whose answer was lost."""
    row = start(**given)
    held(row, sent=True)
    rounds.sweep_round()
    assert now(row).state == "needs_reconciliation"
    return now(row)


def alerts(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.action for r in caplog.records if r.levelno >= logging.ERROR]


def due() -> None:
    """Let every waiting event be due now."""
    waiting = ProviderEvent.objects.filter(next_check_at__isnull=False)
    waiting.update(next_check_at=store.now())


class Killed(BaseException):
    """As abrupt as a signal: nobody catches it."""


def killed(*_: Any, **__: Any) -> None:
    raise Killed
