"""Bytes as the web server that we ship gets them: signed by node, or odd in every header (II.32; C078, C082)."""

import json
import socket
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from fulfilment.models import ProviderEvent
from tests.concurrency.whole.house import House
from tests.integration.webhooks.support import event, signed
from tests.integration.webhooks.test_signed_elsewhere import BODY, headers  # noqa: F401

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.processes,
    pytest.mark.chaos,
]

NAMES = ("webhook-id", "webhook-timestamp", "webhook-signature")
ODD = [b"\xe9", b"", b"x" * 100_000, b"\xff\xfe", b"v1,\xe9", b"9" * 400]


def test_what_node_signed_is_taken_byte_for_byte_and_a_copy_of_it_is_refused(
    house: House,
    headers: dict[str, str],  # noqa: F811
) -> None:
    given = {name: value.encode() for name, value in headers.items()}
    assert send(house, BODY, given) == 200
    kept = ProviderEvent.objects.get(dedupe_key="evt_node").payload
    assert bytes(kept.body) == BODY
    for copy in (json.dumps(json.loads(BODY)).encode(), BODY.rstrip(b"\n"), BODY + b" "):
        assert send(house, copy, given) == 401


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_header_is_refused_and_never_an_error_of_ours(house: House, name: str) -> None:
    body = event(id=f"evt_{uuid4().hex}")
    good = {key: value.encode() for key, value in signed(body).items()}
    for odd in ODD:
        status = send(house, body, good | {name: odd})
        assert 400 <= status < 500, f"{name}: {odd[:9]!r} was answered {status}"
    assert not ProviderEvent.objects.filter(dedupe_key=json.loads(body)["id"]).exists()
    assert send(house, body, good) == 200, "it is the header that was refused"


def send(house: House, body: bytes, given: dict[str, bytes]) -> int:
    """One delivery of exactly these bytes; the status of its answer."""
    at = urlsplit(house.web)
    lines = [b"POST /v1/webhooks/sandbox HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close"]
    lines += [b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
    lines += [name.encode() + b": " + value for name, value in given.items()]
    with socket.create_connection((at.hostname, at.port), timeout=20) as wire:
        wire.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        answer = wire.makefile("rb").readline()
    return int(answer.split()[1])
