"""Deliveries to the web server that we ship, with its several processes: killed, rotated, slowed."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from fulfilment.models import ProviderEvent
from fulfilment.webhooks.applying import apply_due
from tests.concurrency.web import serving
from tests.integration.fulfilment.support import Books, now
from tests.integration.webhooks.conftest import books, provider, world  # noqa: F401
from tests.integration.webhooks.support import SECRET, about, event, signed, unknown

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.processes,
    pytest.mark.chaos,
    pytest.mark.filterwarnings("ignore:No directory at"),
]

POINTS = ("webhook.verified", "webhook.inserted", "webhook.committed", "webhook.remembered")
OTHER = SECRET[:-4] + "AAA="


def post(url: str, body: bytes, headers: dict[str, str] | None = None) -> int:
    """The status of the answer; 0 where the server died before it gave one."""
    given = signed(body) if headers is None else headers
    with suppress(httpx2.TransportError):
        return httpx2.post(
            f"{url}/v1/webhooks/sandbox", content=body, headers=given, timeout=30
        ).status_code
    return 0


def on_record(body: bytes) -> bool:
    return ProviderEvent.objects.filter(dedupe_key=json.loads(body)["id"]).exists()


@pytest.fixture
def sandbox(settings: Any, world: None) -> None:  # noqa: F811
    """The events that the service's own processes take are applied here."""
    settings.FULFILMENT["WEBHOOKS"]["sandbox"] = settings.FULFILMENT["WEBHOOKS"]["memory"]


@pytest.mark.usefixtures("sandbox")
def test_a_web_worker_killed_anywhere_answers_nothing_and_the_senders_retry_is_applied_once(
    tmp_path: Path,
    books: Books,  # noqa: F811
) -> None:
    rows = {point: unknown() for point in POINTS}
    bodies = {point: about(row) for point, row in rows.items()}
    for point, body in bodies.items():
        dying = {"FULFILMENT_KILL_AT": point, "WEB_WORKERS": "1"}
        with serving(tmp_path / "log", SANDBOX_WEBHOOK_SECRET=SECRET, **dying) as url:
            assert post(url, body) == 0, f"it was not killed at {point}"
        stored = point in ("webhook.committed", "webhook.remembered")
        assert on_record(body) is stored, f"killed at {point}: on record is {not stored}"
    with serving(tmp_path / "log", SANDBOX_WEBHOOK_SECRET=SECRET, WEB_WORKERS="3") as url:
        at_once = [body for body in bodies.values() for _ in range(20)]
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda body: post(url, body), at_once))
    assert set(answers) == {200}, "a retry was not taken, or not all of twenty at once"
    assert ProviderEvent.objects.count() == len(POINTS), "an event was lost or is there twice"
    apply_due()
    assert {now(row).state for row in rows.values()} == {"fulfilled"}
    assert books.told == {"fulfilled": len(POINTS)}


def both(body: bytes) -> dict[str, str]:
    """One delivery with two signatures in its header, as a sender in mid-rotation sends it."""
    headers = signed(body, secret=OTHER)
    ours = signed(body)["webhook-signature"]
    return headers | {"webhook-signature": f"{headers['webhook-signature']} {ours}"}


def test_a_secret_is_replaced_without_losing_an_event_and_the_old_one_is_worth_nothing_then(
    tmp_path: Path,
) -> None:
    """OTHER is the old one, SECRET the new one."""

    def answers(url: str) -> list[int]:
        bodies = [event() for _ in range(3)]
        headers = [signed(bodies[0], secret=OTHER), signed(bodies[1]), both(bodies[2])]
        return [post(url, *delivery) for delivery in zip(bodies, headers, strict=True)]

    expected = {
        f"{SECRET} {OTHER}": [200, 200, 200],
        SECRET: [401, 200, 200],
    }
    for secrets, wanted in expected.items():
        with serving(tmp_path / "log", SANDBOX_WEBHOOK_SECRET=secrets) as url:
            assert answers(url) == wanted, "signed with the old, the new, and both secrets"


@pytest.mark.parametrize("secret", ["  ", "whsec_"])
def test_the_server_does_not_start_with_a_secret_that_proves_nothing(secret: str) -> None:
    """Unset, there is no address for events; and what is started all the same believes nobody."""
    command = [
        sys.executable, "-m", "gunicorn", "--config", "python:ledgerline.gunicorn",
        "--bind", "127.0.0.1:0", "ledgerline.wsgi:application",
    ]  # fmt: skip
    given = os.environ | {"SANDBOX_WEBHOOK_SECRET": secret}
    said = subprocess.run(command, env=given, capture_output=True, check=False, timeout=110)
    assert said.returncode != 0, "a deployment goes on with a secret that proves nothing"
    assert b"fulfilment.E007" in said.stderr or b"holds no secret" in said.stderr, said.stderr


# --- slow parts ------------------------------------------------------------------------------------


@contextmanager
def slow(url: str, *, by: float) -> Iterator[str]:
    """A way to this Redis on which every answer takes `by` seconds."""
    target = urlsplit(url)
    listener = socket.create_server(("127.0.0.1", 0))

    def pass_on(near: socket.socket) -> None:
        with (
            suppress(OSError),
            near,
            socket.create_connection((target.hostname, target.port)) as far,
        ):
            while said := near.recv(65536):
                far.sendall(said)
                answer = far.recv(65536)
                time.sleep(by)
                near.sendall(answer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=pass_on, args=(near,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield target._replace(netloc=f"127.0.0.1:{listener.getsockname()[1]}").geturl()
    finally:
        listener.close()


@pytest.mark.usefixtures("sandbox")
def test_while_redis_is_slow_and_no_worker_runs_a_delivery_is_answered_at_once(
    tmp_path: Path,
    books: Books,  # noqa: F811
) -> None:
    """Cache and broker take 5 s for every answer, and nobody listens to the broker."""
    row = unknown()
    bodies = [about(row), *(event() for _ in range(5))]
    took = []
    with (
        slow(os.environ["REDIS_URL"], by=5) as redis,
        slow(os.environ["REDIS_URL"], by=5) as broker,
        serving(
            tmp_path / "log",
            SANDBOX_WEBHOOK_SECRET=SECRET,
            REDIS_URL=redis,
            CELERY_BROKER_URL=broker,
        ) as url,
    ):
        for body in bodies:
            begun = time.monotonic()
            assert post(url, body) == 200
            took.append(time.monotonic() - begun)
    assert sorted(took)[len(took) // 2] < 2, f"a sender gives up and sends again: {took}"
    assert max(took) < 5, f"an answer waited for Redis: {took}"
    apply_due()
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
