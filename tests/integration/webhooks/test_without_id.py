"""A provider whose events have no id of their own: what identifies an event is its name."""

import json
from dataclasses import replace
from typing import Any

import pytest

from fulfilment.connectors.sandbox.webhooks import SandboxWebhooks
from fulfilment.models import ProviderEvent, ProviderEventConflict
from fulfilment.webhooks.applying import apply_due
from fulfilment.webhooks.event import Event
from tests.integration.fulfilment.support import Books, Provider, now
from tests.integration.webhooks.support import Talking, about, deliver, unknown

pytestmark = pytest.mark.django_db


class Nameless(SandboxWebhooks):
    """Type, object and status identify an event; a stamp of the delivery does not."""

    def read(self, raw_body: bytes) -> Event:
        data = json.loads(raw_body)["data"]
        identity = [json.loads(raw_body)["type"], data["id"], data["status"]]
        return replace(super().read(raw_body), dedupe_key="", content=json.dumps(identity).encode())


@pytest.fixture(autouse=True)
def nameless(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    provider.promises(webhook_has_id=False)
    monkeypatch.setattr(Talking, "webhooks", Nameless())


def test_the_same_event_delivered_twice_is_one(books: Books) -> None:
    row = unknown()
    for at in ("2026-03-01T12:00:00+00:00", "2026-03-01T12:05:00+00:00"):
        assert deliver(about(row, created_at=at)).status_code == 200
        apply_due()
    assert ProviderEvent.objects.count() == 1, "a stamp of the delivery made another event of it"
    assert not ProviderEventConflict.objects.exists()
    assert books.told == {"fulfilled": 1}


def test_two_events_about_one_payment_are_two(books: Books) -> None:
    row = unknown()
    for kind in ("transfer.succeeded", "transfer.reversed"):
        deliver(about(row, kind))
        apply_due()
    assert ProviderEvent.objects.count() == 2, "the reversal was taken for the success"
    assert now(row).state == "reversed"


def test_an_event_without_its_id_is_no_event_where_the_provider_gives_one(
    provider: Provider,
) -> None:
    provider.promises(webhook_has_id=True)
    answer: Any = deliver(about(unknown()))
    assert (answer.status_code, json.loads(answer.content)["code"]) == (400, "event_malformed")
    assert not ProviderEvent.objects.exists(), "all events without an id would be one"
