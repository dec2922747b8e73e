"""Bytes that nobody meant, at the shipped web server: an answer that is no 5xx, soon, and no payment.

The same few hundred in every run; `PROVE=50` tries fifty times as many at random.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledgerline.demo.check.phone import new_key
from ledgerline.demo.check.system import System
from tests.acceptance.conftest import Demo
from tests.machine.runs import some

pytestmark = pytest.mark.processes

PATIENCE = 15  # seconds: what hangs has failed

keys = st.uuids().map(lambda key: str(key).encode())
scraps = st.binary(max_size=40) | st.sampled_from(
    [b"", b" ", b"\t", b",", b'"', b'\\"', b";p=1", b"\x00", b"\xff", b"\r", b"\n", b"\r\n ", b"%0d%0a"]
)  # fmt: skip
values = st.lists(scraps | keys, max_size=4).map(b"".join) | keys | keys.map(b'"%s"'.__mod__)
names = st.sampled_from(
    [
        *(b"Idempotency-Key", b"idempotency-key", b"Idempotency_Key", b"Idempotency-Key "),
        *(b"Content-Type", b"Accept", b"Prefer", b"Confirmation-Token", b"Authorization"),
        *(b"Transfer-Encoding", b"Content-Length", b"Expect", b"X-HTTP-Method-Override"),
    ]
)
headers = st.lists(st.tuples(names | st.binary(min_size=1, max_size=12), values), max_size=3)

numbers = st.integers() | st.floats() | st.sampled_from([2**31, 2**63, -1, 0, 1, 10**400])
leaves = st.none() | st.booleans() | numbers | st.text(max_size=12)
trees = st.recursive(
    leaves, lambda t: st.lists(t, max_size=3) | st.dictionaries(st.text(max_size=6), t, max_size=3)
)


@dataclass(frozen=True)
class Door:
    """The way in, and the books behind it."""

    system: System
    books: psycopg.Connection[Any]

    def say(self, lines: list[bytes], body: bytes) -> bytes:
        """One request of exactly these bytes on a connection of its own; all that comes back."""
        url = urlsplit(self.system.base_url)
        head = b"\r\n".join(
            [b"POST /v1/transfers HTTP/1.1", b"Host: " + url.netloc.encode(), *lines]
        )
        with socket.create_connection((url.hostname, url.port), timeout=PATIENCE) as wire:
            with suppress(ConnectionError):  # it may answer before it has read everything
                wire.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
                wire.shutdown(socket.SHUT_WR)
            received = b""
            with suppress(ConnectionError):
                while piece := wire.recv(65536):
                    received += piece
            return received

    def signed(self, key: bytes, body: bytes) -> list[bytes]:
        token = self.system.users["ada"]["token"].encode()
        return [
            b"Authorization: Bearer " + token,
            b"Idempotency-Key: " + key,
            b"Content-Type: application/json",
            b"Content-Length: %d" % len(body),
        ]

    def order(self, **changed: Any) -> dict[str, Any]:
        payee = self.system.users["bola"]["account"]
        return {"toAccount": payee, "amount": 1, "currency": "NGN", "narration": "fuzz"} | changed

    def transfers(self) -> int:
        [(count,)] = self.books.execute("SELECT count(*) FROM bank_transfer").fetchall()
        return int(count)

    def rows(self) -> int:
        [(count,)] = self.books.execute("SELECT count(*) FROM idempotency_keys").fetchall()
        return int(count)


@pytest.fixture
def door(demo: Demo, system: System) -> Iterator[Door]:
    """A bug of ours would be in the log as well."""
    log = demo.folder / "web.log"
    before = log.stat().st_size
    with psycopg.connect(system.database_url, autocommit=True) as books:
        yield Door(system, books)
    written = log.read_bytes()[before:].decode(errors="replace")
    assert "Traceback" not in written, f"something was not foreseen:\n{written[-3000:]}"


def judged(door: Door, lines: list[bytes], body: bytes) -> int:
    """Its status. Whatever was sent: no 5xx, and money moves only where a success is told."""
    transfers, rows = door.transfers(), door.rows()
    received = door.say(lines, body)
    sent = f"{lines!r} and {body[:300]!r}"
    assert received.startswith(b"HTTP/1.1 "), f"no answer but {received[:80]!r} to {sent}"
    assert b"HTTP/1.1 5" not in received, f"{received[:200]!r} to {sent}"
    status = int(received.split(b" ", 2)[1])
    assert status < 400 or b"application/problem+json" in received, (
        f"a client of the API is sent a page of HTML: {received[:300]!r} to {sent}"
    )
    made, kept = door.transfers() - transfers, door.rows() - rows
    assert made == (status == 201 or status == 202) - (b"Idempotent-Replayed" in received), (
        f"{status}, and {made} transfers were made by {sent}"
    )
    assert kept <= 1, sent
    assert not (kept and status in {401, 403, 405, 406, 413, 415, 429, 431}), (
        f"{status} has used up a key: {sent}"
    )
    return status


def test_no_bytes_in_the_headers_are_a_500_or_a_payment(door: Door) -> None:
    body = json.dumps(door.order()).encode()

    @some(examples=150)
    @given(values, headers)
    @example(b"k" * 255, [])
    @example(b"k", [(b"Transfer-Encoding", b"chunked")])
    @example(b"k", [(b"Transfer-Encoding", b"")])
    @example(b"k", [(b"Content-Length", b"-1")])
    def fuzz(key: bytes, more: list[tuple[bytes, bytes]]) -> None:
        lines = [*door.signed(key, body), *(name + b": " + value for name, value in more)]
        judged(door, lines, body)

    fuzz()


def mutated(good: bytes) -> st.SearchStrategy[bytes]:
    """An order with some bytes cut out, replaced and put in."""
    cuts = st.tuples(st.integers(0, len(good)), st.integers(0, 6), st.binary(max_size=6))

    def cut(places: list[tuple[int, int, bytes]]) -> bytes:
        body = good
        for start, length, scrap in places:
            body = body[:start] + scrap + body[start + length :]
        return body

    return st.lists(cuts, min_size=1, max_size=3).map(cut)


def test_no_bytes_in_the_body_are_a_500_or_a_payment_that_was_not_ordered(door: Door) -> None:
    good = json.dumps(door.order()).encode()
    fields = st.sampled_from(
        ["toAccount", "amount", "currency", "narration", "toBank", "fromAccount"]
    )
    orders = st.dictionaries(fields, trees, max_size=2).map(lambda odd: door.order(**odd))
    bodies = mutated(good) | orders.map(_json) | trees.map(_json) | st.binary(max_size=200)

    @some(examples=150)
    @given(bodies)
    @example(good)
    @example(b"[" * 100_000)
    def fuzz(body: bytes) -> None:
        judged(door, door.signed(new_key().encode(), body), body)

    fuzz()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_the_bytes_that_are_tried_pay_when_they_are_right(door: Door) -> None:
    """Else the others would prove nothing."""
    body = json.dumps(door.order()).encode()
    told = [judged(door, door.signed(new_key().encode(), body), body) for _ in "ab"]
    assert told == [201, 201]
