"""A web process that is killed at every moment of a confirmed transfer (II.28).

There is no third outcome: nothing happened and the token still works for its key, or the transfer
exists and is returned.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from idempotency import reference_of
from idempotency.models import ConsumedToken, IdempotencyKey
from ledgerline import tokens
from ledgerline.bank.models import Account, Transfer
from tests.concurrency.relay import Relay
from tests.connectors.sandbox import until
from tests.integration.bank.conftest import customer, on_hand
from tests.integration.bank.phone import B0, Phone

pytestmark = [
    pytest.mark.django_db(
        transaction=True, available_apps=["idempotency", "fulfilment", "ledgerline.bank"]
    ),
    pytest.mark.processes,
]

MOST = 200  # moments; a request has far fewer
NOTHING, ALL = (0, 0, 0), (1, 1, 1)  # transfers, spent tokens, stored answers
THIRD = "a third outcome: some of transfer, spent token and stored answer are there, others are not"


@dataclass
class Service:
    """Processes of the service, one for each request, behind a relay that kills them."""

    relay: Relay
    process: subprocess.Popen[str]

    def pay(self, headers: dict[str, str], *, kill_at: int | None) -> tuple[int, list[Any] | None]:
        """(exit code, [status, body] if it lived to answer)."""
        self.relay.arm(kill_at)
        assert self.process.stdin is not None
        order = {"path": "/v1/transfers", "body": json.dumps(B0), "headers": headers}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        self.relay.victim.set_result(int(self._line()))
        code, _, said = self._line().partition(" ")
        return int(code), json.loads(said) if said else None

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line, "the worker ended; what it said is above"
        return line


@pytest.fixture
def service(transactional_db: None, settings: Any) -> Iterator[Service]:
    settings.CONFIRM_ABOVE = {"NGN": 9_999}
    database = connection.settings_dict
    relay = Relay(database["HOST"], int(database["PORT"]))
    url = f"postgresql://{database['USER']}:{database['PASSWORD']}@127.0.0.1:{relay.port}"
    environment = os.environ | {
        "DATABASE_URL": f"{url}/{database['NAME']}",
        "CONFIRM_ABOVE": "NGN=9999",
        "LOG_LEVEL": "CRITICAL",
    }
    command = [sys.executable, "-m", "tests.concurrency.confirming_worker"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:  # type: ignore[call-overload]
        yield Service(relay, process)
        process.stdin.close()
    relay.close()


@pytest.fixture
def payer(transactional_db: None) -> Account:
    customer("bola", number=B0["toAccount"])
    return customer("ada", number="0123456780", funds=MOST * B0["amount"])


def on_record(reference: str, key: str) -> tuple[int, int, int]:
    """What there is of the key, once its dead process has left no session behind."""
    until(_nobody_else, what="PostgreSQL to notice that its client is dead")
    made = Transfer.objects.filter(reference=reference)
    spent = ConsumedToken.objects.filter(reference=reference)
    return made.count(), spent.count(), IdempotencyKey.objects.filter(key=key).count()


def _nobody_else() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return bool(cursor.fetchone()[0] == 0)


def test_a_process_killed_at_any_moment_leaves_a_token_that_works_or_a_transfer(
    service: Service, payer: Account
) -> None:
    seen = []
    for moment in range(first_moment(service, payer), MOST):
        key, token = str(uuid4()), Phone(payer).confirm().json()["token"]
        code, answer = service.pay(headers(payer, key, token), kill_at=moment)
        if code == 0:
            assert answer is not None
            assert answer[0] == 201, answer
            break
        assert code == -signal.SIGKILL, f"moment {moment}: {answer}"
        seen.append(made_or_not(payer, key, token, at=f"killed at moment {moment}"))
    else:
        pytest.fail("the request never came to its end")
    assert {NOTHING, ALL} == set(seen), f"killed on one side of the commit only: {seen}"
    assert len(seen) >= 5, f"killed at {len(seen)} moments only: is the relay in between?"
    paid = (len(seen) + 2) * B0["amount"]
    assert on_hand(payer) == (MOST * B0["amount"] - paid, 0), "the books say something else"


def first_moment(service: Service, payer: Account) -> int:
    """When the claim is said to PostgreSQL, in a request that is left alone."""
    token = Phone(payer).confirm().json()["token"]
    code, answer = service.pay(headers(payer, str(uuid4()), token), kill_at=None)
    assert (code, answer and answer[0]) == (0, 201), answer
    heard = service.relay.heard
    return next(n for n, said in enumerate(heard, 1) if b"INTO idempotency_keys" in said)


def made_or_not(payer: Account, key: str, token: str, *, at: str) -> tuple[int, int, int]:
    """What is on record, once it is certain that the retry gets what belongs to it."""
    made = on_record(reference_of(payer.owner_id, key), key)
    assert made in {NOTHING, ALL}, f"{at}: {THIRD}: {made}"
    again, other = Phone(payer).pay(key=key, token=token), Phone(payer).pay(token=token)
    assert again.status_code == 201, f"{at}: neither token nor transfer: {again.content!r}"
    assert (again.headers.get("Idempotent-Replayed") == "true") is (made == ALL)
    assert other.json()["code"] == "token_used", f"{at}: the token pays a second time"
    return made


def headers(payer: Account, key: str, token: str) -> dict[str, str]:
    bearer = f"Bearer {tokens.issue(payer.owner)}"
    return {"Authorization": bearer, "Idempotency-Key": key, "Confirmation-Token": token}
