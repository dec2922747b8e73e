"""Bytes that are not an order: a 4xx that says why, nothing stored, nothing moved. Never a 5xx."""

import json
from uuid import uuid4

import pytest

from ledgerline.bank.models import Account, Transfer
from tests.integration.bank.conftest import on_hand
from tests.integration.bank.phone import B0, Phone

GOOD = json.dumps(B0).encode()


def with_amount(raw: bytes) -> bytes:
    return GOOD.replace(b"10000", raw)


TEXTS = [b'"NaN"', b'"sNaN"', b'"-Infinity"', b'"1e400"', b'"0x10"', b'"1_000"', b'"80.6"']
TEXTS += ['"\u0661\u0660\u0660"'.encode()]  # 100 in Arabic-Indic digits
FRACTIONS = [b"80.6", b"80.9", b"80.99", b"0.07", b"1.005", b"33.33", b"1.0", b"1e2", b"1e400"]
NO_JSON = [b"NaN", b"Infinity", b"1e" + b"9" * 30, b"9" * 5000]
OTHERS = [b"-1", b"0", b"true", b"null", b"[1]", b"{}", b"9223372036854775808", b"9" * 400]


@pytest.mark.parametrize(
    "raw", [*TEXTS, *FRACTIONS, *NO_JSON, *OTHERS], ids=lambda raw: ascii(raw[:16])
)
def test_an_amount_that_is_no_whole_number_in_range_is_400(
    ada: Account, bola: Account, raw: bytes
) -> None:
    answer = Phone(ada).pay(with_amount(raw))
    assert answer.status_code == 400, answer.content
    assert answer.json()["code"] in {"invalid", "body_invalid"}
    assert not Transfer.objects.exists()


@pytest.mark.parametrize(
    ("body", "content_type", "statuses"),
    [
        pytest.param(b"\xef\xbb\xbf" + GOOD, "application/json", {400}, id="byte order mark"),
        pytest.param(
            GOOD.decode().encode("utf-16"),
            "application/json; charset=utf-16",
            {400, 415},
            id="utf-16",
        ),
        pytest.param(
            GOOD.replace(b"INV", b"\xe9"),
            "application/json; charset=latin-1",
            {400, 415},
            id="latin-1",
        ),
        pytest.param(GOOD, "application/json; charset=bogus", {400, 415}, id="bogus charset"),
        pytest.param(GOOD.replace(b"INV", b"\xff"), "application/json", {400}, id="lone byte"),
        pytest.param(GOOD.replace(b"INV", b"\\ud83d"), "application/json", {400}, id="surrogate"),
        pytest.param(GOOD.replace(b"INV", b"\\u0000"), "application/json", {400}, id="NUL"),
        pytest.param(
            GOOD.replace(b"narration", b"\\u0000"), "application/json", {400}, id="NUL as a name"
        ),
        pytest.param(
            GOOD.replace(b"narration", b"\\ud83d"), "application/json", {400}, id="surrogate name"
        ),
        pytest.param(GOOD[:-1] + b',"amount":1}', "application/json", {400}, id="duplicate"),
        pytest.param(b"[" * 100_000, "application/json", {400}, id="deep"),
        pytest.param(b"", "application/json", {400}, id="empty"),
        pytest.param(b"{", "application/json", {400}, id="cut off"),
        pytest.param(b"[]", "application/json", {400}, id="list"),
        pytest.param(b"null", "application/json", {400}, id="null"),
        pytest.param(b"toAccount=1", "application/x-www-form-urlencoded", {415}, id="form"),
        pytest.param(GOOD, "text/plain", {415}, id="plain text"),
        pytest.param(GOOD, "", {400, 415}, id="no content type"),
    ],
)
def test_a_body_that_is_no_json_of_ours_is_refused(
    ada: Account, bola: Account, body: bytes, content_type: str, statuses: set[int]
) -> None:
    phone = Phone(ada)
    answer = phone.pay(body, key="k-1", content_type=content_type)
    assert answer.status_code in statuses, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert phone.pay(key="k-1").status_code == 201, "input that was refused has used up its key"
    assert on_hand(ada) == (90_000, 0)


def test_a_body_the_wrong_way_twice_says_it_twice(ada: Account) -> None:
    body = {"toAccount": "12", "amount": "5", "currency": "naira"}
    answer = Phone(ada).pay(body)
    assert sorted(answer.json()["errors"]) == ["amount", "currency", "toAccount"]
    assert all(len(sentences) == 1 for sentences in answer.json()["errors"].values())


@pytest.mark.parametrize("kind", ["*/*", "application/*"])
def test_a_wildcard_is_no_content_type_and_stores_nothing(
    ada: Account, bola: Account, kind: str
) -> None:
    key = str(uuid4())
    refused = Phone(ada).pay(key=key, content_type=kind)
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media_type")
    assert Phone(ada).pay(key=key).status_code == 201, "a refused request kept the key"
