"""`kill -9` at every point between the signature and the answer: what was answered is on record."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.cache import caches
from django.db import connection

from fulfilment.models import ProviderEvent
from fulfilment.webhooks.applying import apply_due
from idempotency import timeline
from tests.integration.fulfilment.support import Books, now
from tests.integration.webhooks.support import SECRET, about, stored, unknown

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

ROOT = Path(__file__).resolve().parents[3]


def receive(body: bytes, *, kill_at: str = "") -> subprocess.CompletedProcess[bytes]:
    """One delivery, in a process of its own, to the service on this test's database."""
    name = connection.settings_dict["NAME"]
    ours = {
        "DATABASE_URL": urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl(),
        "SANDBOX_WEBHOOK_SECRET": SECRET,
        "FULFILMENT_KILL_AT": kill_at,
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "tests.integration.webhooks.one_delivery"]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | ours, input=body, capture_output=True, check=False
    )


def filter_knows(body: bytes) -> bool:
    key = f"idem:{timeline.current()}:sandbox:acct_sandbox:test:{stored(body).dedupe_key}"
    return caches["default"].get(key) is not None


@pytest.mark.parametrize(
    ("point", "on_record", "remembered"),
    [
        ("webhook.verified", 0, False),
        ("webhook.inserted", 0, False),
        ("webhook.committed", 1, False),
        ("webhook.remembered", 1, True),
    ],
)
def test_a_process_killed_there_answers_nothing_and_the_senders_retry_is_applied_once(
    settings: Any, books: Books, point: str, on_record: int, remembered: bool
) -> None:
    settings.FULFILMENT["WEBHOOKS"]["sandbox"] = settings.FULFILMENT["WEBHOOKS"]["memory"]
    row = unknown()
    body = about(row)
    killed = receive(body, kill_at=point)
    assert killed.returncode == -signal.SIGKILL, f"it was not killed there: {killed.stderr!r}"
    assert killed.stdout == b"", "the sender was answered although the process died before that"
    assert ProviderEvent.objects.count() == on_record
    if on_record:
        assert filter_knows(body) is remembered
    again = receive(body)
    assert again.stdout == b"200\n", f"the retry was answered {again.stdout!r}: {again.stderr!r}"
    assert ProviderEvent.objects.count() == 1, "the event was lost, or is on record twice"
    apply_due()
    assert now(row).state == "fulfilled"
    assert books.told == {"fulfilled": 1}
