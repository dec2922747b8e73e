"""Requests, commits and workers: nobody hears of what is not committed, nobody gets another's row (C062, C068)."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

import httpx2
import psutil
import pytest
from django.db import connection, transaction

from fulfilment.models import Fulfilment
from ledgerline import tokens
from ledgerline.bank.models import Account, Transfer
from tests.concurrency.web import serving
from tests.connectors.sandbox import until
from tests.integration.bank.conftest import customer
from tests.integration.bank.outside import EXTERNAL
from tests.recovery.stack import BOUND, CREW, Stack
from tests.recovery.standing import _django_db_helper, _ours  # noqa: F401

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.processes,
    pytest.mark.chaos,
    pytest.mark.timeout(180),
]

CUSTOMERS, EACH = 10, 20

# Every commit of a payment takes a while, and one of them does not succeed.
SLOW = """
CREATE FUNCTION recovery_slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep(0.1);
    IF NEW.instruction->>'narration' = 'rolled back' THEN
        RAISE 'the books do not close' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER recovery_slow AFTER INSERT ON fulfilment
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION recovery_slow();
"""


@dataclass
class Phone:
    """One customer's; what it asks for and what it gets are compared."""

    web: httpx2.Client
    account: Account
    token: str

    def pay(self, amount: int, narration: str = "INV-1001") -> httpx2.Response:
        body = EXTERNAL | {"amount": amount, "narration": narration}
        key = {"Idempotency-Key": str(uuid4())}
        return self.web.post("/v1/transfers", json=body, headers=self._who() | key)

    def pay_and_look(self, amounts: list[int]) -> list[str]:
        """Order, look at the order, look at the account; the references, each of its own amount."""
        references = []
        for amount in amounts:
            answer = self.pay(amount)
            assert answer.status_code == 202, answer.text
            seen = self.web.get(answer.headers["Location"], headers=self._who())
            for told in (answer.json(), seen.json()):
                assert told["amount"] == amount, "the answer is about somebody else's row"
            if amount % 2:
                mine = self.web.get("/v1/accounts", headers=self._who())
                assert self.account.number in mine.text, "somebody else's accounts"
            references.append(seen.json()["reference"])
        return references

    def _who(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@pytest.fixture(scope="module")
def web(crew: Stack) -> Iterator[httpx2.Client]:
    """The server that we ship, loaded before it forks, with four processes."""
    log = crew.folder / "web.log"
    preload = {"GUNICORN_CMD_ARGS": "--preload", "WEB_WORKERS": "4"}
    environment = crew.environment | preload
    with serving(log, **environment) as url, httpx2.Client(base_url=url, timeout=60) as client:
        with connection.cursor() as cursor:
            cursor.execute(SLOW)
        yield client
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION recovery_slow CASCADE")


@pytest.fixture(scope="module")
def phones(web: httpx2.Client) -> list[Phone]:
    with transaction.atomic():
        accounts = [
            customer(f"customer{n}", number=f"55000000{n:02}", funds=10_000_000)
            for n in range(CUSTOMERS)
        ]
    return [Phone(web, account, tokens.issue(account.owner)) for account in accounts]


def test_five_hundred_requests_get_their_own_rows_and_each_payment_is_made_once(
    crew: Stack, phones: list[Phone]
) -> None:
    amounts = [[1000 + n * EACH + i for i in range(EACH)] for n in range(CUSTOMERS)]
    with ThreadPoolExecutor(CUSTOMERS) as pool:
        works = [pool.submit(p.pay_and_look, a) for p, a in zip(phones, amounts, strict=True)]
        references = {reference for work in works for reference in work.result()}
    assert len(references) == CUSTOMERS * EACH
    ours = Transfer.objects.filter(reference__in=references)
    until(
        lambda: ours.filter(state="fulfilled").count() == len(references),
        what="all payments to be made",
        seconds=BOUND,
    )
    booked = [p["amount"] for p in crew.sandbox.books()["payments"]]
    assert sorted(a for a in booked if a in range(1000, 1200)) == list(range(1000, 1200)), (
        "some payment was lost, or made twice"
    )
    said = crew.log()
    assert "does not exist" not in said, "a worker looked for what was not committed"
    assert "DoesNotExist" not in said
    assert "couldn't get a connection" not in said


def test_a_payment_that_is_rolled_back_is_never_dispatched(
    crew: Stack, phones: list[Phone]
) -> None:
    before = hinted(crew)
    assert phones[0].pay(777, narration="rolled back").status_code == 500
    fine = phones[0].pay(778)
    reference = fine.json()["reference"]
    rows = Fulfilment.objects.filter(payment_id=f"transfer:{reference}")
    until(lambda: rows.get().state == "fulfilled", what="the next one to be paid", seconds=BOUND)
    assert not Fulfilment.objects.filter(amount=777).exists()
    assert 777 not in [p["amount"] for p in crew.sandbox.books()["payments"]]
    assert hinted(crew) >= before + 1, "nobody was told of the next one either"
    lost = Fulfilment.objects.order_by("-pk").first()
    assert lost is not None
    assert lost.pk == rows.get().pk


def hinted(crew: Stack) -> int:
    return len(re.findall(r"Task fulfilment\.dispatch\[.+?\] received", crew.log()))


def test_no_connection_of_any_kind_is_open_in_two_processes(
    crew: Stack, phones: list[Phone]
) -> None:
    """One that was made before the fork would carry two conversations."""
    phones[0].pay(779)
    parents = [crew.child(name).process.pid for name in CREW]
    master = next(
        p for p in psutil.process_iter() if "--preload" in _environment(p) and p.children()
    )
    families = [psutil.Process(pid) for pid in parents] + [master]
    everybody = [p for parent in families for p in (parent, *parent.children())]
    assert len(everybody) == 3 + 4 + 4, "a parent, and its children, of each of three"
    ports = [
        c.laddr.port
        for p in everybody
        for c in p.net_connections("tcp")
        if c.status == "ESTABLISHED"
    ]
    assert ports
    outgoing = [
        port
        for port in ports
        if port != int(str(phones[0].web.base_url).rsplit(":")[-1].strip("/"))
    ]
    assert len(outgoing) == len(set(outgoing)), "a connection is open in two processes"


def _environment(process: psutil.Process) -> str:
    try:
        return str(process.environ().get("GUNICORN_CMD_ARGS", ""))
    except psutil.Error:
        return ""
