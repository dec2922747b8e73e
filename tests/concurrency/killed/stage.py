"""A bank, a provider, and workers that are struck down: rows before, and what became of them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from fulfilment import rounds, store
from fulfilment.conf import conf
from fulfilment.dispatch import attempt
from fulfilment.models import Attempt, Fulfilment
from fulfilment.states import OPEN
from ledgerline.bank.models import Account
from tests.concurrency.killed.wire import Strike, Wire
from tests.connectors.sandbox import Sandbox, until
from tests.integration.bank.conftest import customer
from tests.integration.bank.outside import EXTERNAL, row_of
from tests.integration.bank.phone import Phone
from tests.integration.webhooks.support import SECRET

PATIENCE = 30  # seconds for everything to be decided; it takes two or three


class Stage:
    """One provider, one customer, and a process that begets workers."""

    def __init__(self, payer: Account, provider: Sandbox, mother: subprocess.Popen[str]) -> None:
        self.phone = Phone(payer)
        self.provider = provider
        self.mother = mother

    def ordered(self, narration: str = "") -> Fulfilment:
        """A transfer as the phone orders it: held money, an open key, a row that is due."""
        answer = self.phone.pay(EXTERNAL | {"narration": narration})
        assert answer.status_code == 202, answer.content
        return row_of(answer["Location"])

    def sent(self, narration: str = "") -> Fulfilment:
        """One that a worker sent, and did with the answer what one does."""
        row = attempt.run(self.ordered(narration).pk)
        assert row is not None
        return row

    def begun(self, work: str, *subject: Any, strike: Strike | None = None) -> tuple[Wire, int]:
        """A new worker at its work, and the wire that it speaks over."""
        wire = Wire(strike, **self._targets())
        pid = self.hired(f"killed.works.{work}", *subject, ports=wire.ports)
        wire.victim.set_result(pid)
        return wire, pid

    def hired(self, work: str, *subject: Any, ports: Mapping[str, int] | None = None) -> int:
        """A new process, and its id."""
        return int(self._asked({"work": work, "subject": subject, "ports": ports or {}}))

    def dismissed(self, pid: int) -> tuple[int, Any]:
        """Its exit code and what it returned, once it has ended."""
        code, _, said = self._asked({"wait": pid}).partition(" ")
        return int(code), json.loads(said)

    def worked(self, work: str, *subject: Any, strike: Strike | None = None) -> tuple[int, Wire]:
        """From its birth to its end."""
        wire, pid = self.begun(work, *subject, strike=strike)
        code, said = self.dismissed(pid)
        wire.close()
        assert code <= 0, f"the worker failed at “{work}”: {said}"
        until(_nobody_else, what="PostgreSQL to notice that its client is dead")
        return code, wire

    def decided(self, *more: Any) -> None:
        """Rounds, until nothing is open any more; `more` is done before each."""

        def quiet() -> bool:
            for work in more:
                work()
            rounds.whole_round()
            return not Fulfilment.objects.filter(state__in=OPEN).exists()

        try:
            until(quiet, what="every row to be decided", seconds=PATIENCE)
        except AssertionError as error:
            rows = Fulfilment.objects.filter(state__in=OPEN)
            left = {row.pk: (row.state, row.reason) for row in rows}
            raise AssertionError(f"{error}; still open: {left}") from None

    def _targets(self) -> dict[str, tuple[str, int]]:
        database, cache = connection.settings_dict, urlsplit(settings.REDIS_URL)
        provider = urlsplit(self.provider.url)
        return {
            "database": (database["HOST"], int(database["PORT"])),
            "provider": (str(provider.hostname), int(provider.port or 0)),
            "cache": (str(cache.hostname), int(cache.port or 0)),
        }

    def _asked(self, order: dict[str, Any]) -> str:
        assert self.mother.stdin
        assert self.mother.stdout
        self.mother.stdin.write(json.dumps(order) + "\n")
        self.mother.stdin.flush()
        line = self.mother.stdout.readline().strip()
        assert line, "the mother of the workers ended; what she said is above"
        return line


def first_in_line(row: Fulfilment, *, hours: int) -> Fulfilment:
    """Due before every other row, if each is given more hours than the last."""
    due = store.now() - timedelta(hours=hours)
    Fulfilment.objects.filter(pk=row.pk).update(next_check_at=due)
    return row


def customers(stage: Stage) -> Iterator[Stage]:
    """Each with an account of their own: none of them waits for another."""
    for number in count():
        payer = customer(f"customer {number}", number=f"01{number:08}", funds=1_000_000)
        yield Stage(payer, stage.provider, stage.mother)


def lost_for_good(stage: Stage, n: int) -> list[Fulfilment]:
    """So many rows that were sent and never arrived, when nothing can arrive any more."""
    lost = [stage.sent("sandbox:lose_request(1)") for _ in range(n)]
    attempts = Attempt.objects.filter(fulfilment__in=lost)
    call = conf().total_deadline + conf().margin

    def settled() -> bool:
        return not attempts.filter(lease_until__gt=store.now() - call).exists()

    until(settled, what="the settling time", seconds=20)
    return lost


@contextmanager
def mother(provider: Sandbox) -> Iterator[subprocess.Popen[str]]:
    """The process from which the workers are forked."""
    database = connection.settings_dict
    place = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.concurrency.killed.settings",
        "DATABASE_URL": f"postgresql://{database['USER']}:{database['PASSWORD']}@{place}",
        "SANDBOX_URL": provider.url,
        "SANDBOX_SECRET": provider.secret,
        "SANDBOX_WEBHOOK_SECRET": SECRET,
        "IDLE_IN_TRANSACTION_TIMEOUT": "4",
        "LOG_LEVEL": "CRITICAL",
    }
    command = [sys.executable, "-m", "tests.concurrency.killed.worker"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        yield process
        process.stdin.close()


def _nobody_else() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return bool(cursor.fetchone()[0] == 0)
