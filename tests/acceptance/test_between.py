"""What stands between a client and the server: it sends a request twice, or gives up on it (C109, C019)."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest

from ledgerline.demo.check import books, taps
from ledgerline.demo.check.phone import Phone, new_key
from ledgerline.demo.check.system import System

pytestmark = pytest.mark.processes

ROUNDS = 8


@contextmanager
def doubling(system: System) -> Iterator[str]:
    """A proxy that sends each request on two connections at once and returns the later answer."""
    url = urlsplit(system.base_url)
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(request: bytes) -> bytes:
        with socket.create_connection((url.hostname, url.port), timeout=20) as wire:
            wire.sendall(request)
            return b"".join(iter(lambda: wire.recv(65536), b""))

    def serve() -> None:
        with suppress(OSError), ThreadPoolExecutor(2) as pool:
            while True:
                client, _ = listener.accept()
                with client:
                    request, later = _whole(client), b""
                    for answered in [pool.submit(copy, request) for _ in "ab"]:
                        later = answered.result()
                    client.sendall(later)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(20)


def _whole(client: socket.socket) -> bytes:
    """A request, head and body, in however many pieces it comes."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += client.recv(65536)
    head, _, body = request.partition(b"\r\n\r\n")
    [length] = [
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    ]  # fmt: skip
    while len(body) < length:
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body


def send(url: str, system: System, order: dict[str, object], key: str) -> httpx2.Response:
    """In one piece, on a connection that ends with the answer."""
    headers = {
        "Authorization": f"Bearer {system.users['ada']['token']}",
        "Idempotency-Key": key,
        "Connection": "close",
    }
    return httpx2.post(f"{url}/v1/transfers", json=order, headers=headers, timeout=30)


def test_a_proxy_that_sends_each_request_twice_makes_one_transfer_of_it(system: System) -> None:
    with doubling(system) as url:
        for number in range(ROUNDS):
            key = new_key()
            order = taps.on_us(system, amount=3, narration=f"doubled {number} {key[:8]}")
            first = send(url, system, order, key)
            if first.status_code == 409:
                assert int(first.headers["Retry-After"]) >= 1, "nobody says when to come again"
                assert first.json()["code"] == "in_progress"
            else:
                assert first.status_code == 201, first.content
            with taps.phone(system) as phone:
                final = phone.until_final(order, key=key)
            assert final.status == 201, f"the client was never told: {final}"
            assert _made(system, order) == 1, "one tap, sent in two copies, is two transfers"
            books.one_transfer_one_posting(system, json.loads(final.body)["reference"])


def test_a_request_that_a_proxy_gave_up_on_is_running_for_its_retry_and_then_replayed(
    system: System,
) -> None:
    key = new_key()
    order = taps.on_us(system, amount=4, narration=f"given up on {key[:8]}")
    with psycopg.connect(system.database_url) as teller, taps.phone(system) as phone:
        teller.execute(
            "SELECT 1 FROM bank_account WHERE number = %s FOR UPDATE",
            [system.users["ada"]["account"]],
        )
        hasty = Phone(system.base_url, system.users["ada"]["token"])
        hasty.client.timeout = httpx2.Timeout(0.5)
        with hasty, pytest.raises(httpx2.TimeoutException):
            hasty.send(order, key=key)
        early = phone.send(order, key=key)
        assert (early.status, early.replayed) == (409, False), f"{early}: the retry did not wait"
        teller.rollback()
        final = phone.until_final(order, key=key)
    assert (final.status, final.replayed) == (201, True), f"what went on was lost: {final}"
    assert _made(system, order) == 1


def _made(system: System, order: dict[str, object]) -> int:
    found = system.rows(
        "SELECT count(*) AS n FROM bank_transfer WHERE narration = %(narration)s",
        narration=order["narration"],
    )
    return int(found[0]["n"])
