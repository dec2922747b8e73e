"""The whole service in processes of its own, and a provider that reports to its web server."""

import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
from django.db import connection

import idempotency
from fulfilment.models import Fulfilment, ProviderEvent
from fulfilment.states import reference_of
from ledgerline import tokens
from ledgerline.bank.models import Account
from tests.concurrency.web import serving
from tests.connectors.sandbox import Sandbox, until
from tests.integration.bank.outside import EXTERNAL
from tests.integration.webhooks.support import SECRET
from tests.recovery.stack import BOUND, Stack


class House:
    """Web server, worker, beat, broker and provider; `web` is the server's address."""

    def __init__(self, folder: Path) -> None:
        port = _free_port()
        self.web = f"http://127.0.0.1:{port}"
        hooks = ("--webhook-url", f"{self.web}/v1/webhooks/sandbox", "--webhook-secret", SECRET)
        self.stack = Stack(folder, provider=hooks)
        self.stack.environment |= {
            "DJANGO_SETTINGS_MODULE": "tests.concurrency.whole.settings",
            "SANDBOX_WEBHOOK_SECRET": SECRET,
            "FULFILMENT_SECOND_PERSON_ABOVE": "NGN=4000000",
            "LOCK_TIMEOUT": "1",
            "WEB_WORKERS": "3",
        }
        self._port = port

    @property
    def provider(self) -> Sandbox:
        return self.stack.sandbox

    def open(self, **environment: str) -> None:
        """Start the web server; at the same address as before, if it was closed."""
        log = self.stack.folder / f"web-{uuid4().hex[:6]}.log"
        served = serving(log, port=self._port, **(self.stack.environment | environment))
        self._serving = ExitStack()
        self._serving.enter_context(served)

    def close(self) -> None:
        """End the web server."""
        self._serving.close()


class Customer:
    """Somebody's phone, signed in as the owner of an account."""

    def __init__(self, house: House, account: Account) -> None:
        self.account = account
        who = {"Authorization": f"Bearer {tokens.issue(account.owner)}"}
        self._web = httpx2.Client(base_url=house.web, headers=who, timeout=60)

    def post(self, path: str, body: dict[str, Any], *, key: str) -> httpx2.Response:
        return self._web.post(path, json=body, headers={"Idempotency-Key": key})

    def leave(self) -> None:
        """Hang up."""
        self._web.close()

    def pay(self, key: str, **changes: Any) -> httpx2.Response:
        """NGN 100.00 to another bank, unless `changes` say otherwise."""
        return self.post("/v1/transfers", EXTERNAL | changes, key=key)

    def final(self, key: str, **changes: Any) -> httpx2.Response:
        """The answer that stays, for whoever asks with the same key until there is one."""
        told: list[httpx2.Response] = []

        def decided() -> bool:
            time.sleep(0.05)  # a phone does not ask all the time
            told.append(self.pay(key, **changes))
            assert told[-1].status_code in {201, 202, 400, 409}, told[-1].text
            return told[-1].status_code in {201, 400}

        until(decided, what="the phone to be told", seconds=BOUND)
        return told[-1]

    def reference(self, key: str) -> str:
        """Under which the provider hears of the transfer with this key, whenever it is made."""
        ours = idempotency.reference_of(self.account.owner_id, key)
        return reference_of(f"transfer:{ours}", connector="sandbox", generation=1)


def becomes(reference: str, state: str) -> Fulfilment:
    """The fulfilment with this reference, once it is in this state."""
    rows = Fulfilment.objects.filter(reference=reference, state=state)
    until(rows.exists, what=f"{reference} to be {state}", seconds=BOUND)
    return rows.get()


def events(reference: str, *, status: str | None = None) -> list[ProviderEvent]:
    """What the provider reported of it, once there is something (in this status) on record."""
    everything = ProviderEvent.objects.filter(reference=reference)
    rows = everything.filter(status=status) if status else everything
    end = time.monotonic() + BOUND
    while not (found := list(rows.all())):
        told = list(everything.values_list("status", "reason", "fulfilment__state"))
        assert time.monotonic() < end, f"no event about it is {status or 'on record'}, but: {told}"
        time.sleep(0.02)
    return found


def unbalanced() -> list[tuple[int]]:
    """Postings that do not sum to zero: there are none (G7)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT posting_id FROM bank_entry GROUP BY 1 HAVING sum(amount) <> 0")
        return list(cursor.fetchall())


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
