"""Bodies that break on the wire, as the shipped web server hands them on: never executed, never a 500."""

import json
import socket
import struct
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from ledgerline.demo.check.phone import new_key
from ledgerline.demo.check.system import System
from tests.acceptance.conftest import Demo

pytestmark = pytest.mark.processes

CHUNKED = b"Transfer-Encoding: chunked"


@pytest.fixture
def body(system: System) -> bytes:
    """A payment of one minor unit, under a narration of its own."""
    payee = system.users["bola"]["account"]
    order = {"toAccount": payee, "amount": 1, "currency": "NGN", "narration": "torn"}
    return json.dumps(order).encode()


@pytest.fixture(autouse=True)
def quiet(demo: Demo) -> Iterator[None]:
    """A client that breaks its own request is no error of ours."""
    log = demo.folder / "web.log"
    before = log.stat().st_size
    yield
    written = log.read_bytes()[before:].decode()
    assert "Traceback" not in written, f"a torn body left a traceback:\n{written}"
    assert "ERROR" not in written, f"a torn body was logged as our error:\n{written}"


def _open(system: System, key: str, *lines: bytes) -> socket.socket:
    """A connection on which the head of one POST was sent."""
    url = urlsplit(system.base_url)
    head = [
        b"POST /v1/transfers HTTP/1.1",
        b"Host: " + url.netloc.encode(),
        b"Authorization: Bearer " + system.users["ada"]["token"].encode(),
        b"Idempotency-Key: " + key.encode(),
        b"Content-Type: application/json",
        b"Connection: close",
        *lines,
    ]
    wire = socket.create_connection((url.hostname, url.port), timeout=10)
    wire.sendall(b"\r\n".join(head) + b"\r\n\r\n")
    return wire


def _answer(wire: socket.socket) -> tuple[int, bytes]:
    """Close our side, as a client that has no more to say, and read the other."""
    with wire:
        wire.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: wire.recv(65536), b""))
    return int(received.split(b" ", 2)[1]), received


def _stored(system: System, key: str) -> int:
    found = system.rows("SELECT count(*) AS n FROM idempotency_keys WHERE key = %(key)s", key=key)
    return found[0]["n"]


def _paid(system: System) -> int:
    return system.rows("SELECT count(*) AS n FROM bank_transfer WHERE narration = 'torn'")[0]["n"]


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.mark.parametrize(
    "fault", ["no size", "cut in a chunk", "no last chunk", "no end of a chunk", "no trailer's end"]
)
def test_a_chunked_body_that_breaks_is_a_400_and_leaves_the_key_unused(
    system: System, body: bytes, fault: str
) -> None:
    torn = {
        "no size": b"zz\r\n" + body,
        "cut in a chunk": _chunk(body)[:30],
        "no last chunk": _chunk(body),
        "no end of a chunk": _chunk(body)[:-2] + b"0\r\n\r\n",
        "no trailer's end": _chunk(body) + b"0\r\n",
    }[fault]
    key, before = new_key(), _paid(system)
    wire = _open(system, key, CHUNKED)
    wire.sendall(torn)
    status, received = _answer(wire)
    assert status == 400, f"expected 400, got {received[:300]!r}"
    assert b'"code": "body_invalid"' in received
    assert b'"safe_new_key": false' in received
    assert (_stored(system, key), _paid(system)) == (0, before), "half an order was carried out"


def test_a_body_that_is_shorter_than_it_was_said_to_be_is_not_an_order(
    system: System, body: bytes
) -> None:
    key, before = new_key(), _paid(system)
    wire = _open(system, key, b"Content-Length: %d" % (len(body) + 5))
    wire.sendall(body)  # whole JSON, but the client had more to say
    status, received = _answer(wire)
    assert _paid(system) == before, "a body that did not arrive whole was carried out"
    assert (status, b'"code": "body_invalid"' in received) == (400, True), received[:300]
    assert _stored(system, key) == 0


@pytest.mark.parametrize("way", ["with a length", "in chunks"])
def test_a_connection_that_is_reset_within_the_body_stores_nothing(
    system: System, body: bytes, way: str
) -> None:
    key, before = new_key(), _paid(system)
    length = b"Content-Length: %d" % (len(body) + 5)
    wire = _open(system, key, CHUNKED if way == "in chunks" else length)
    wire.sendall(_chunk(body) if way == "in chunks" else body)
    time.sleep(
        0.2
    )  # the server is waiting for the rest; a reset would overtake what it has not read
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()
    time.sleep(0.3)
    assert (_stored(system, key), _paid(system)) == (0, before), "half an order was carried out"


def test_the_key_of_a_torn_body_is_as_good_as_new(system: System, body: bytes) -> None:
    key, before = new_key(), _paid(system)
    torn = _open(system, key, CHUNKED)
    torn.sendall(b"zz\r\n")
    assert _answer(torn)[0] == 400
    wire = _open(system, key, CHUNKED)
    wire.sendall(_chunk(body) + b"0\r\n\r\n")
    assert _answer(wire)[0] == 201
    assert _paid(system) == before + 1
