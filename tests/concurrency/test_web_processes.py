"""Several web processes, one key: one effect, and never a success that did not commit (7, 18; C012)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Barrier

import httpx2
import pytest
from django.db import connection, transaction

from idempotency.models import IdempotencyKey
from ledgerline import tokens
from ledgerline.bank.models import Account, Transfer
from tests.concurrency.web import serving
from tests.integration.bank.conftest import customer, on_hand
from tests.integration.bank.phone import B0

pytestmark = [
    pytest.mark.django_db(
        transaction=True, available_apps=["idempotency", "fulfilment", "ledgerline.bank"]
    ),
    pytest.mark.processes,
]

# Checked by COMMIT, after the view has returned its 201.
REFUSE_COMMIT = """
CREATE FUNCTION test_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE 'the books do not close' USING ERRCODE = 'check_violation'; END $$;
CREATE CONSTRAINT TRIGGER test_refuse AFTER INSERT ON bank_transfer
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION test_refuse();
"""

AS_IT_WAS = "DROP FUNCTION IF EXISTS test_refuse CASCADE"


@dataclass
class Web:
    """The running server, and the customer who calls it."""

    client: httpx2.Client
    log: Path
    account: Account = field(init=False)
    token: str = field(init=False)

    def pay(self, key: str) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key}
        return self.client.post("/v1/transfers", json=B0, headers=headers)


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    log = tmp_path_factory.mktemp("web") / "web.log"
    # a request that waits for a row must wait longer than the others take
    with serving(log, LOCK_TIMEOUT="9") as url, httpx2.Client(base_url=url, timeout=30) as client:
        yield Web(client, log)


@pytest.fixture
def web(server: Web, transactional_db: None) -> Iterator[Web]:
    server.account = customer("ada", number="0123456780", funds=1_000_000)
    server.token = tokens.issue(server.account.owner)
    customer("bola", number="0123456789")
    yield server
    execute(AS_IT_WAS)


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_commit_that_fails_is_an_error_and_leaves_the_key_free(web: Web) -> None:
    keys = [f"k{n}" for n in range(8)]  # enough for every process and its connections
    execute(REFUSE_COMMIT)
    failed = [web.pay(key) for key in keys]
    assert {answer.status_code for answer in failed} == {500}, (
        "a client was told of a success that COMMIT refused"
    )
    assert (Transfer.objects.count(), IdempotencyKey.objects.count()) == (0, 0)
    execute(AS_IT_WAS)
    paid = [web.pay(key) for key in keys]
    assert [answer.status_code for answer in paid] == [201] * 8, (
        "a failed COMMIT left its key taken"
    )
    assert not any("Idempotent-Replayed" in answer.headers for answer in paid), (
        "a success that never happened was replayed"
    )
    assert (Transfer.objects.count(), on_hand(web.account)) == (8, (920_000, 0))


def test_of_twenty_requests_at_once_one_runs_and_nobody_waits_for_it(web: Web) -> None:
    start = Barrier(20)

    def race(_: int) -> httpx2.Response:
        start.wait(timeout=30)
        return web.pay("k")

    with ThreadPoolExecutor(20) as pool:
        with transaction.atomic():  # whoever comes first stands at the payer's account
            Account.objects.select_for_update(no_key=True).get(pk=web.account.pk)
            racing = [pool.submit(race, n) for n in range(20)]
            told = [f.result().status_code for f in islice(as_completed(racing, timeout=8), 19)]
        assert told == [409] * 19, (
            f"{told}: a duplicate ran, failed, or waited for the first request"
        )
        paid = [f.result() for f in racing if f.result().status_code == 201]
    assert (len(paid), Transfer.objects.count()) == (1, 1), "the first request did not pay once"
    again = web.pay("k")
    assert (again.content, again.headers["Idempotent-Replayed"]) == (paid[0].content, "true")
    assert "is aborted" not in web.log.read_text(), "a duplicate was caught in a broken transaction"
