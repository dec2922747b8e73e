"""What the sandbox's events say; what is odd in them is left empty and never guessed."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from fulfilment.connectors.sandbox.webhooks import SandboxWebhooks
from fulfilment.reconcile.evidence import Finding
from fulfilment.webhooks.errors import EventMalformed
from fulfilment.webhooks.event import Event

REFERENCE = "0123456789abcdef0123456789abcdef"
DATA = {
    "id": "pay_1",
    "reference": REFERENCE,
    "status": "succeeded",
    "amount": 500,
    "currency": "NGN",
    "recipient": {"bank": "058", "account": "••••6789"},
}
MEMBERS: dict[str, Any] = {
    "id": "evt_1",
    "type": "transfer.succeeded",
    "account": "acct_sandbox",
    "livemode": False,
    "created_at": "2026-03-01T12:00:00Z",
    "data": DATA,
}


def read(body: bytes | None = None, **changed: Any) -> Event:
    return SandboxWebhooks().read(body or json.dumps(MEMBERS | changed).encode())


def test_an_event_is_read_whole() -> None:
    event = read()
    assert (event.dedupe_key, event.type) == ("evt_1", "transfer.succeeded")
    assert (event.account, event.livemode) == ("acct_sandbox", False)
    assert (event.reference, event.finding, event.conclusive) == (REFERENCE, Finding.DONE, True)
    assert (event.amount, event.currency) == (500, "NGN")
    assert event.recipient == "058 ••••6789"
    assert (event.provider_id, event.provider_status) == ("pay_1", "succeeded")
    assert event.said_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert event.trigger is None
    assert event.content == json.dumps(MEMBERS).encode(), "all bytes are what must stay the same"


@pytest.mark.parametrize(
    ("kind", "status", "finding"),
    [
        ("transfer.succeeded", "succeeded", Finding.DONE),
        ("transfer.failed", "failed", Finding.NOT_DONE),
        ("transfer.reversed", "reversed", Finding.REVERSED),
        ("airtime.succeeded", "succeeded", Finding.DONE),
        ("airtime.failed", "failed", Finding.NOT_DONE),
        ("transfer.succeeded", "failed", Finding.UNKNOWN),
        ("transfer.failed", "succeeded", Finding.UNKNOWN),
        ("transfer.failed", None, Finding.UNKNOWN),
        ("airtime.reversed", "reversed", None),
        ("transfer.fee_adjusted", "succeeded", None),
        ("payment.succeeded", "paid", None),
    ],
)
def test_type_and_status_say_it_together(kind: str, status: Any, finding: Finding | None) -> None:
    assert read(type=kind, data=DATA | {"status": status}).finding is finding


def test_a_status_that_is_left_out_contradicts_nothing() -> None:
    data = {name: value for name, value in DATA.items() if name != "status"}
    assert read(data=data).finding is Finding.DONE


def test_a_payment_is_a_trigger_and_no_evidence() -> None:
    paid = DATA | {"status": "paid", "checkout_id": "chk_1", "metadata": {"phone": "0801"}}
    event = read(type="payment.succeeded", data=paid)
    assert event.finding is None
    assert event.trigger is not None
    assert (event.trigger.checkout_id, event.trigger.metadata) == ("chk_1", {"phone": "0801"})


@pytest.mark.parametrize("status", ["failed", "open", "", None, 1])
def test_a_payment_whose_status_contradicts_it_starts_nothing_and_is_not_ignored(
    status: Any,
) -> None:
    event = read(type="payment.succeeded", data=DATA | {"status": status})
    assert event.trigger is None, f"airtime is bought for a payment that is {status!r}"
    assert event.finding is Finding.UNKNOWN, "nobody hears of it"


@pytest.mark.parametrize("amount", [99.99, "500", 500.0, True, -1, 0, None, 2**63, 10**400])
def test_what_is_no_amount_is_none(amount: Any) -> None:
    assert read(data=DATA | {"amount": amount}).amount is None


@pytest.mark.parametrize("currency", ["", None, 1, "NGNX", "N\x00"])
def test_what_is_no_currency_is_empty(currency: Any) -> None:
    assert read(data=DATA | {"currency": currency}).currency == ""


@pytest.mark.parametrize("reference", [None, "", 1, [], "r" * 65, "a\x00b", "\ud83d"])
def test_what_is_no_reference_names_nothing(reference: Any) -> None:
    assert read(data=DATA | {"reference": reference}).reference is None


@pytest.mark.parametrize("data", [None, [], "x", 1, {}])
def test_data_that_is_no_object_names_nothing(data: Any) -> None:
    event = read(data=data)
    assert (event.reference, event.amount, event.recipient) == (None, None, "")


@pytest.mark.parametrize(
    "at",
    [
        None,
        "",
        "yesterday",
        1,
        "2026-03-01T12:00:00",
        "0001-01-01T00:00:00+14:00",  # before the year 1 in UTC, and beyond the year 9999:
        "9999-12-31T23:59:59-14:00",  # PostgreSQL keeps both, and Python cannot read them again
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ],
)
def test_a_time_that_cannot_be_placed_is_none(at: Any) -> None:
    assert read(created_at=at).said_at is None


@pytest.mark.parametrize(
    "at",
    [
        datetime(2026, 3, 1),  # noqa: DTZ001  a connector that knows no zone
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_no_connector_can_put_a_time_on_record_that_nobody_can_read_again(at: datetime) -> None:
    event = Event(dedupe_key="e", type="t", account="", livemode=False, content=b"", said_at=at)
    assert event.said_at is None


@pytest.mark.parametrize(
    "changed",
    [
        {"type": None},
        {"type": 1},
        {"type": ""},
        {"type": "  "},
        {"type": "t" * 129},
        {"type": "a\x00b"},
        {"type": "\ud83d"},
        {"id": None},
        {"id": 7},
        {"id": ""},
        {"id": "i" * 201},
        {"id": "evt\x00"},
        {"account": 1},
        {"account": "a" * 65},
        {"livemode": "false"},
        {"livemode": 0},
    ],
    ids=ascii,
)
def test_without_a_name_and_a_type_it_is_no_event(changed: dict[str, Any]) -> None:
    with pytest.raises(EventMalformed):
        read(**changed)


@pytest.mark.parametrize("missing", ["type", "id"])
def test_what_identifies_an_event_cannot_be_left_out(missing: str) -> None:
    members = {name: value for name, value in MEMBERS.items() if name != missing}
    with pytest.raises(EventMalformed):
        read(json.dumps(members).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"x",
        b"[]",
        b'"text"',
        b"null",
        b"{",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b'{"id":"\xff"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"id":' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: ascii(body[:12]),
)
def test_a_body_that_is_no_json_object_is_no_event(body: bytes) -> None:
    with pytest.raises(EventMalformed):
        read(body)
