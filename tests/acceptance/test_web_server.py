"""What the shipped web server's configuration promises."""

import socket
import time
from urllib.parse import urlsplit

import httpx2
import pytest

from ledgerline.demo.check.phone import Phone
from ledgerline.demo.check.system import System
from tests.acceptance.conftest import Demo

pytestmark = pytest.mark.processes


def test_the_access_log_holds_no_whole_account_number(demo: Demo, system: System) -> None:
    ada = system.users["ada"]
    with Phone(system.base_url, ada["token"]) as phone:
        phone.get(f"/v1/accounts/{ada['account']}/entries")
        phone.client.get(f"/v1/accounts/{ada['account']}/nothing")
    log = (demo.folder / "web.log").read_text()
    assert f"/v1/accounts/******{ada['account'][-4:]}/entries" in log, "the request was not logged"
    assert ada["account"] not in log, "the log holds a whole account number"


@pytest.mark.timeout(120)
def test_clients_that_send_no_body_do_not_hold_the_service_for_ever(system: System) -> None:
    url = urlsplit(system.base_url)
    head = (
        f"POST /v1/transfers HTTP/1.1\r\nHost: {url.netloc}\r\nIdempotency-Key: silent\r\n"
        f"Authorization: Bearer {system.users['ada']['token']}\r\n"
        "Content-Type: application/json\r\nContent-Length: 50\r\n\r\n"
    ).encode()
    silent = [socket.create_connection((url.hostname, url.port), timeout=5) for _ in range(16)]
    try:
        for connection in silent:
            connection.sendall(head)
        assert _alive_within(system, seconds=60), "sixteen silent clients hold every thread"
    finally:
        for connection in silent:
            connection.close()


def _alive_within(system: System, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            return httpx2.get(f"{system.base_url}/healthz", timeout=5).status_code == 200
        except httpx2.TransportError:
            continue
    return False
