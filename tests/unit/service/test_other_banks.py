"""Which bank is paid to by which connector: from the environment, and refused at start if it is wrong."""

from typing import Any

import pytest

from ledgerline import checks, env, other_banks
from ledgerline.bank import transfers

_BANK = {
    "ISO20022_URL": "http://127.0.0.1:8090",
    "ISO20022_USER": "ledgerline",
    "ISO20022_PASSWORD": "a password",
    "ISO20022_DEBTOR_NAME": "ACME Corporation",
    "ISO20022_DEBTOR_IBAN": "NL41MOCK0000000001",
    "ISO20022_DEBTOR_BIC": "MOCKNL2A",
}


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _BANK.items():
        monkeypatch.setenv(name, value)


def test_without_an_address_there_is_no_such_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISO20022_URL", raising=False)
    assert (other_banks.connectors(), other_banks.mailboxes()) == ({}, {})


@pytest.mark.usefixtures("named")
def test_a_bank_of_the_environment_can_be_built_and_its_messages_are_fetched(
    settings: Any,
) -> None:
    from fulfilment.webhooks import entries

    settings.FULFILMENT = {
        "CONNECTORS": other_banks.connectors(),
        "WEBHOOKS": other_banks.mailboxes(),
    }
    entry = entries.entry("iso20022")
    assert entry.mailbox is not None, "the bank's messages are fetched by nobody"
    assert entry.all_connectors == {"iso20022"}


def test_a_bank_is_paid_to_by_its_own_connector_and_all_others_as_before(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANK_CONNECTORS", "mocknl2a=iso20022")
    settings.BANK_CONNECTORS = other_banks.routes()
    assert transfers.connector_to("MOCKNL2A") == transfers.connector_to("mocknl2A") == "iso20022"
    assert transfers.connector_to("058") == "sandbox"


@pytest.mark.parametrize("raw", ["MOCKNL2A", "=iso20022", "MOCKNL2A="])
def test_a_route_that_is_none_is_refused(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_CONNECTORS", raw)
    with pytest.raises(env.BadSetting, match=r"BANK_CONNECTORS is .* it must be like MOCKNL2A="):
        other_banks.routes()


def test_a_bank_whose_connector_is_not_there_is_refused_at_start(settings: Any) -> None:
    assert checks.banks_have_connectors(None) == []
    settings.BANK_CONNECTORS = {"MOCKNL2A": "iso20022"}
    [found] = checks.banks_have_connectors(None)
    assert found.id == "ledgerline.E005"
    assert "MOCKNL2A" in str(found.msg), "nobody can tell which bank has no connector"
