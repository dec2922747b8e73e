"""The header on the wire, as the shipped web server hands it on: raw bytes, no client library."""

import json
import socket
from urllib.parse import urlsplit

import pytest

from ledgerline.demo.check.phone import new_key
from ledgerline.demo.check.system import System

pytestmark = pytest.mark.processes

KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"


def _post(system: System, *lines: bytes) -> tuple[int, bytes]:
    """One POST with exactly these extra header lines; returns status and everything received."""
    url = urlsplit(system.base_url)
    body = json.dumps(
        {
            "toAccount": system.users["bola"]["account"],
            "amount": 1,
            "currency": "NGN",
            "narration": "raw",
        }
    ).encode()
    head = [
        b"POST /v1/transfers HTTP/1.1",
        b"Host: " + url.netloc.encode(),
        b"Authorization: Bearer " + system.users["ada"]["token"].encode(),
        b"Content-Type: application/json",
        b"Content-Length: " + str(len(body)).encode(),
        b"Connection: close",
        *lines,
    ]
    with socket.create_connection((url.hostname, url.port), timeout=10) as wire:
        wire.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
        received = b"".join(iter(lambda: wire.recv(65536), b""))
    return int(received.split(b" ", 2)[1]), received


def _transfers(system: System) -> int:
    return system.rows("SELECT count(*) AS n FROM bank_transfer WHERE narration = 'raw'")[0]["n"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([], id="missing"),
        pytest.param([b"Idempotency-Key:"], id="empty"),
        pytest.param([b"Idempotency-Key:    "], id="blank"),
        pytest.param([b"Idempotency-Key: k1", b"Idempotency-Key: k2"], id="twice"),
        pytest.param([b"Idempotency-Key: k1", b"Idempotency-Key: k1"], id="twice the same"),
        pytest.param([b"Idempotency-Key: k1,k2"], id="comma"),
        pytest.param([b"Idempotency-Key: k1", b"Idempotency_Key: k2"], id="underscore twin"),
        pytest.param([b"Idempotency_Key: k2"], id="underscore only"),
        pytest.param([b"Idempotency-Key: " + b"a" * 256], id="256 characters"),
        pytest.param([b"Idempotency-Key: \xe2\x9c\x93"], id="UTF-8"),
        pytest.param([b"Idempotency-Key: \xff"], id="FF"),
        pytest.param([b"Idempotency-Key: a b"], id="space inside"),
        pytest.param([b'Idempotency-Key: "unterminated'], id="unterminated"),
        pytest.param([b"Idempotency-Key: a\x00b"], id="NUL"),
        pytest.param([b"idempotency_key: k2", b"Idempotency-Key: k1"], id="twin in small letters"),
        pytest.param([b"Idempotency-Key: k1\r\n k2"], id="on two lines"),
    ],
)
def test_a_key_that_is_not_one_key_is_a_400_and_moves_no_money(
    lines: list[bytes], system: System
) -> None:
    before = _transfers(system)
    status, received = _post(system, *lines)
    assert status == 400, f"expected 400, got {received[:300]!r}"
    assert b"application/problem+json" in received, "a client of the API is sent a page of HTML"
    problem = json.loads(received.partition(b"\r\n\r\n")[2])
    assert problem["code"] == ("key_invalid" if lines else "key_missing")
    assert problem["safe_new_key"] is False, "an earlier request may have been applied"
    assert _transfers(system) == before, "a request without a usable key moved money"


@pytest.mark.parametrize("length", [8000, 30_000])
def test_a_monstrous_key_is_a_4xx_and_never_a_5xx(length: int, system: System) -> None:
    status, received = _post(system, b"Idempotency-Key: " + b"f" * length)
    assert 400 <= status < 500, f"expected a 4xx, got {received[:200]!r}"
    assert b"application/problem+json" in received, "a client of the API is sent a page of HTML"


@pytest.mark.parametrize(
    "line",
    [
        b"X_Odd: 1",
        b"X Y: 1",
        b"X-Odd: a\x00",
        b"Content-Length: 1",
        b"X-Odd: a\r\n folded",
        b"Expect: a-miracle",
        b"Transfer-Encoding: backwards",
    ],
)
def test_a_header_that_is_none_is_told_as_a_problem(line: bytes, system: System) -> None:
    before = _transfers(system)
    status, received = _post(system, b"Idempotency-Key: " + new_key().encode(), line)
    assert (status, b'"code": "malformed_request"' in received) == (400, True), received[:300]
    assert _transfers(system) == before


def test_bare_and_quoted_form_with_parameters_name_one_key(system: System) -> None:
    key = new_key().encode()
    before = _transfers(system)
    answers = [
        _post(system, b"Idempotency-Key: " + form)
        for form in (key, b'"' + key + b'"', b'"' + key + b'";p=1')
    ]
    assert [status for status, _ in answers] == [201, 201, 201]
    assert [b"Idempotent-Replayed: true" in received for _, received in answers] == [
        False,
        True,
        True,
    ]
    assert _transfers(system) == before + 1, "one key in two forms made two transfers"
