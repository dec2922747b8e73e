"""What is sent, and what of it may be printed."""

import json

import pytest

from idempotency.audit import masking, order, target
from idempotency.audit.order import Order
from idempotency.audit.target import BadTarget, Target
from idempotency.audit.wire import NoAnswer, Wire

ADA = (("Authorization", b"Bearer ada-secret-token"), ("Content-Type", b"application/json"))
BODY = b'{"currency": "NGN", "to": {"account": "0123456789"}, "amount": 1}'


def test_another_order_is_as_valid_as_the_first() -> None:
    assert json.loads(order.altered(BODY)) == json.loads(BODY) | {"amount": 2}
    nested = json.loads(order.altered(b'{"paid": true, "sum": {"minor": 5}}'))
    assert nested == {"paid": True, "sum": {"minor": 6}}
    assert json.loads(order.altered(b'{"to": "a"}')) == {"to": "a", "idempotency_audit": 1}
    assert order.altered(b"to=a") == b"to=a x"


def test_the_same_order_in_other_bytes_is_the_same_value() -> None:
    turned = order.in_other_order(BODY)
    assert turned is not None
    assert turned != BODY
    assert json.loads(turned) == json.loads(BODY)
    assert list(json.loads(turned)) == ["amount", "to", "currency"]
    assert order.in_other_order(b'{"amount": 1}') is None
    assert order.in_other_order(b"<xml/>") is None


def test_somebody_else_sends_none_of_the_first_users_credentials() -> None:
    told = Order("POST", ADA, BODY, other_user=(("authorization", b"Bearer bola"),))
    sent = told.by_somebody_else(b"k")
    assert sent is not None
    assert sent.headers == (ADA[1], ("authorization", b"Bearer bola"), ("Idempotency-Key", b"k"))
    assert Order("POST", ADA, BODY).by_somebody_else(b"k") is None


def test_nothing_that_is_printed_holds_a_secret_or_an_account_number() -> None:
    secrets = masking.secrets_of(ADA)
    shown = masking.text(
        b'{"echo": "ada-secret-token", "access_token": "x", "account": "0123456789"}\x1b[2J',
        secrets=secrets,
    )
    assert "ada-secret-token" not in shown, "a credential that the endpoint echoes is printed"
    assert '"access_token": "****"' in shown
    assert "****6789" in shown
    assert "0123456789" not in shown
    assert "\x1b" not in shown, "an endpoint can write to the auditor's terminal"
    assert masking.request_headers(ADA, key_header="k")[0] == "Authorization: ****"
    cookies = masking.answer_headers([("Set-Cookie", "sid=s3cret; Path=/")], marker="M")
    assert cookies == ["Set-Cookie: sid=****"]


def test_an_odd_or_endless_key_is_printed_in_one_short_line() -> None:
    keys = (("K", b"a\x01\xff"), ("K", b"k" * 4000))
    assert masking.request_headers(keys, key_header="k") == [
        r"K: a\x01\xff",
        "K: kkkkkkkkkkkk… (4000 bytes)",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "127.0.0.1",
        "http:///x",
        "http://u:p@127.0.0.1/",
        "http://127.0.0.1:x/",
        "http://127.0.0.1/a b",
    ],
)
def test_what_is_no_endpoint_is_refused(url: str) -> None:
    with pytest.raises(BadTarget):
        target.find(url)


def test_only_this_machine_is_taken_for_this_machine() -> None:
    assert target.find("http://127.0.0.1:8000/v1?x=1") == Target(
        secure=False, host="127.0.0.1", port=8000, path="/v1?x=1", address="127.0.0.1"
    )
    assert target.find("http://[::1]/").is_loopback
    assert target.find("http://[::1]/").authority == "[::1]"
    assert not target.find("https://192.0.2.1/").is_loopback
    assert target.find("https://192.0.2.1/").authority == "192.0.2.1"


def test_a_connection_past_its_time_is_not_made() -> None:
    with pytest.raises(NoAnswer, match="no connection"):
        Wire(target.find("http://127.0.0.1:9/"), until=0.0).connect()
