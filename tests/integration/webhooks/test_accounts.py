"""Live and test, and several accounts at one provider: each speaks for its own, and the rest is kept."""

import logging
from dataclasses import replace
from typing import Any

import pytest

import fulfilment
from fulfilment.connectors.sandbox.webhooks import SandboxWebhooks
from fulfilment.models import Evidence, Fulfilment, ProviderEvent
from fulfilment.webhooks.applying import apply_due
from tests.integration.fulfilment.support import Books, now
from tests.integration.webhooks.support import (
    SECRET,
    Talking,
    about,
    alerts,
    deliver,
    event,
    stored,
    unknown,
)
from tests.integration.webhooks.test_routes import PAID, order, paid

pytestmark = pytest.mark.django_db

OTHER = SECRET[:-4] + "AAA="


@pytest.fixture
def two_accounts(settings: Any) -> None:
    """Two accounts at one provider, which sends the events of both to one address."""
    connectors = settings.FULFILMENT["CONNECTORS"]
    connectors |= {"bank_a": connectors["memory"], "bank_b": connectors["memory"]}
    settings.FULFILMENT["WEBHOOKS"]["memory"] = {
        "CONNECTOR": "bank_a",
        "SECRETS": [SECRET],
        "LIVEMODE": False,
        "ACCOUNTS": {"acct_a": "bank_a", "acct_b": "bank_b"},
    }


def moves_nothing(row: Fulfilment, body: bytes, caplog: Any, *, why: str) -> None:
    """Answered 200, on record with its reason, told to the operator; and nothing else happened."""
    version = row.version
    with caplog.at_level(logging.ERROR):
        assert deliver(body).status_code == 200, "the sender would go on for days"
        apply_due()
    assert now(row).version == version, "an event that is none of ours moved it"
    assert not Evidence.objects.filter(source="webhook").exists()
    assert stored(body).status == "dead"
    assert why in stored(body).reason
    assert alerts(caplog) == ["event_dead"]


def test_an_event_of_the_other_mode_settles_nothing(caplog) -> None:
    row = unknown()
    moves_nothing(row, about(row, livemode=True), caplog, why="of the live mode")


def test_where_nothing_is_said_of_the_mode_only_live_events_count(settings, caplog) -> None:
    del settings.FULFILMENT["WEBHOOKS"]["memory"]["LIVEMODE"]
    row = unknown()
    moves_nothing(row, about(row), caplog, why="of the test mode")
    deliver(about(row, livemode=True))
    apply_due()
    assert now(row).state == "fulfilled"


@pytest.mark.parametrize("given", [{"livemode": True}, {"account": "acct_other"}], ids=str)
def test_a_payment_of_the_other_mode_or_of_a_foreign_account_starts_nothing(
    settings, caplog, given
) -> None:
    del settings.FULFILMENT["WEBHOOKS"]["memory"]["SPEAKS_FOR"]
    settings.FULFILMENT["WEBHOOKS"]["memory"]["ACCOUNTS"] = {"acct_sandbox": "memory"}
    fulfilment.route(PAID, order)
    body = paid(**given)
    assert deliver(body).status_code == 200
    assert not Fulfilment.objects.exists(), "it was started as the event was stored"
    apply_due()
    assert not Fulfilment.objects.exists(), "it was started as the event was applied"
    assert (stored(body).status, alerts(caplog)) == ("dead", ["event_dead"])
    deliver(paid())
    assert Fulfilment.objects.count() == 1, "the right mode and account start it"


@pytest.mark.usefixtures("two_accounts")
def test_each_of_two_accounts_behind_one_address_settles_its_own(books: Books) -> None:
    rows = {"acct_a": unknown(connector="bank_a"), "acct_b": unknown(connector="bank_b")}
    for account, row in rows.items():
        deliver(about(row, account=account))
    apply_due()
    assert {now(row).state for row in rows.values()} == {"fulfilled"}
    assert books.told == {"fulfilled": 2}


@pytest.mark.usefixtures("two_accounts")
def test_one_account_is_not_believed_about_the_payment_of_another(caplog) -> None:
    row = unknown(connector="bank_b")
    body = about(row, account="acct_a")
    moves_nothing(row, body, caplog, why="may not speak about")


@pytest.mark.usefixtures("two_accounts")
def test_an_account_that_nobody_named_is_not_believed(caplog) -> None:
    row = unknown(connector="bank_a")
    moves_nothing(row, about(row, account="acct_c"), caplog, why="settings")


@pytest.mark.usefixtures("two_accounts")
def test_one_name_at_two_accounts_is_two_events() -> None:
    rows = {"acct_a": unknown(connector="bank_a"), "acct_b": unknown(connector="bank_b")}
    for account, row in rows.items():
        deliver(about(row, account=account, id="evt_1"))
    apply_due()
    assert ProviderEvent.objects.count() == 2
    assert {now(row).state for row in rows.values()} == {"fulfilled"}


def test_two_addresses_have_their_own_secrets_and_speak_for_their_own(settings, caplog) -> None:
    connectors, webhooks = settings.FULFILMENT["CONNECTORS"], settings.FULFILMENT["WEBHOOKS"]
    for name, secret in (("bank_a", SECRET), ("bank_b", OTHER)):
        connectors[name] = connectors["memory"]
        webhooks[name] = {"CONNECTOR": name, "SECRETS": [secret], "LIVEMODE": False}
    row = unknown(connector="bank_b")
    wrong, right = "/v1/webhooks/bank_a", "/v1/webhooks/bank_b"
    assert deliver(about(row), address=right).status_code == 401, "the other account's secret"
    body = about(row)
    assert deliver(body, address=wrong).status_code == 200
    apply_due()
    assert (now(row).state, stored(body).status) == ("needs_reconciliation", "dead")


class Modeless(SandboxWebhooks):
    """Its events do not tell their mode."""

    def read(self, raw_body: bytes) -> fulfilment.Event:
        return replace(super().read(raw_body), livemode=None)


class TalkingModeless(Talking):
    webhooks = Modeless()


@pytest.mark.parametrize("mode", [True, False])
def test_events_that_tell_no_mode_are_of_the_mode_of_their_address(settings, mode) -> None:
    settings.FULFILMENT["CONNECTORS"]["memory"]["CLASS"] = TalkingModeless
    settings.FULFILMENT["WEBHOOKS"]["memory"]["LIVEMODE"] = mode
    row = unknown()
    body = event("transfer.succeeded", reference=row.reference, amount=500)
    deliver(body)
    apply_due()
    assert (stored(body).livemode, now(row).state) == (mode, "fulfilled")
