"""`Prefer: wait=N`: the outcome in the first answer, if it comes in time; never at others' cost."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches
from django.db import OperationalError, connection, connections

from fulfilment.dispatch import attempt
from fulfilment.models import Fulfilment
from ledgerline import checks
from ledgerline.bank import waiting
from ledgerline.bank.models import Account
from tests.integration.bank.outside import EXTERNAL
from tests.integration.bank.phone import B0, Phone
from tests.integration.fulfilment.support import InMemory, Provider

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def provider(settings: Any) -> Provider:
    made = Provider()
    connectors = {"sandbox": {"CLASS": InMemory, "PROVIDER": made}}
    settings.FULFILMENT = settings.FULFILMENT | {"HINT": None, "CONNECTORS": connectors}
    settings.WAITING_THREADS = 4
    caches["default"].clear()
    return made


@pytest.fixture
def key() -> str:
    return str(uuid4())


@contextmanager
def paying(account: Account, *, wait: int, keys: list[str], **more: Any) -> Iterator[list[Future]]:
    """Requests under way, each in a thread of its own; over before the block is left."""

    def pay(key: str) -> Any:
        try:
            return Phone(account).pay(EXTERNAL | more, key=key, prefer=f"wait={wait}")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(keys)) as pool:
        yield [pool.submit(pay, key) for key in keys]
    until(lambda: not waiting._room._asking)


def until(happened: Callable[[], Any], *, seconds: float = 10) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(0.01)
    raise AssertionError("it never happened")


def seated() -> int:
    return len(waiting._room._seats)


def dispatch() -> None:
    for pk in Fulfilment.objects.filter(state="pending").values_list("pk", flat=True):
        attempt.run(pk)


@pytest.mark.parametrize(
    ("fault", "status", "word"), [("ok", 201, "fulfilled"), ("decline", 400, "transfer_failed")]
)
def test_an_outcome_in_time_is_the_first_answer_and_every_later_one(
    ada: Account, provider, key, fault: str, status: int, word: str
) -> None:
    provider.will.append(fault)
    with paying(ada, wait=10, keys=[key]) as [request]:
        until(seated)
        dispatch()
        first = request.result(5)
    assert (first.status_code, first["Preference-Applied"]) == (status, "wait=10")
    body = first.json()
    assert body.get("code", body["state"]) == word
    assert "Idempotent-Replayed" not in first
    replay = Phone(ada).pay(EXTERNAL, key=key)
    assert (replay.status_code, replay.content) == (first.status_code, first.content)
    assert replay["Location"] == first["Location"]
    assert replay["Idempotent-Replayed"] == "true"
    assert "Preference-Applied" not in replay, "a replay did not wait for anything"


def test_an_outcome_that_does_not_come_is_202_after_the_time(ada: Account, key) -> None:
    began = time.monotonic()
    with paying(ada, wait=1, keys=[key]) as [request]:
        answer = request.result(5)
    assert 1 <= time.monotonic() - began < 4
    assert (answer.status_code, answer["Preference-Applied"]) == (202, "wait=1")
    assert answer["Location"]
    assert Phone(ada).pay(EXTERNAL, key=key).status_code == 409


def test_who_waits_holds_no_connection_and_all_together_one(ada: Account) -> None:
    count = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with paying(ada, wait=10, keys=[str(uuid4()) for _ in range(4)], amount=1) as requests:
        until(lambda: seated() == 4)
        with connection.cursor() as cursor:

            def others() -> int:
                cursor.execute(count)
                return cursor.fetchone()[0]

            until(lambda: others() <= 1)
            assert others() <= 1, "waiting requests hold connections"
        dispatch()
        assert [r.result(5).status_code for r in requests] == [201] * 4


def test_where_enough_wait_already_the_next_gets_202_at_once(ada: Account, settings, key) -> None:
    settings.WAITING_THREADS = 1
    with paying(ada, wait=10, keys=[key]) as [request]:
        until(seated)
        began = time.monotonic()
        answer = Phone(ada).pay(EXTERNAL, prefer="wait=10")
        assert time.monotonic() - began < 2, "it waited though no seat was free"
        assert answer.status_code == 202
        assert "Preference-Applied" not in answer
        dispatch()
        assert request.result(5).status_code == 201
    assert seated() == 0


def test_the_retry_of_a_request_that_waits_is_told_so_at_once(ada: Account, key) -> None:
    with paying(ada, wait=10, keys=[key]) as [request]:
        until(seated)
        began = time.monotonic()
        again = Phone(ada).pay(EXTERNAL, key=key, prefer="wait=10")
        assert (again.status_code, again.json()["code"]) == (409, "in_progress")
        assert time.monotonic() - began < 2
        dispatch()
        assert request.result(5).status_code == 201


def test_a_transfer_that_is_taken_back_while_somebody_waits_answers_them(ada: Account, key) -> None:
    phone = Phone(ada)
    with paying(ada, wait=10, keys=[key]) as [request]:
        until(seated)
        [open_one] = phone.list("/v1/transfers")["transfers"]
        assert phone.post(f"/v1/transfers/{open_one['id']}/cancel").status_code == 200
        answer = request.result(5)
    assert (answer.status_code, answer.json()["code"]) == (400, "transfer_cancelled")


@pytest.mark.parametrize("wish", ["", "wait=0", "wait=soon", "respond-async"])
def test_without_a_wish_nobody_waits(ada: Account, wish: str) -> None:
    began = time.monotonic()
    answer = Phone(ada).pay(EXTERNAL, prefer=wish)
    assert answer.status_code == 202
    assert "Preference-Applied" not in answer
    assert time.monotonic() - began < 2


def test_what_is_done_at_once_has_nothing_to_wait_for(ada: Account, bola: Account) -> None:
    assert Phone(ada).pay(B0, prefer="wait=10").status_code == 201


@pytest.mark.parametrize("error", [OperationalError, ValueError])
def test_whatever_happens_to_the_asking_costs_the_wait_and_nothing_else(
    ada: Account, key, monkeypatch, error: type[Exception]
) -> None:
    asked = threading.Event()

    def gone(*_: Any, **__: Any) -> Any:
        asked.set()
        raise error("gone")

    with paying(ada, wait=2, keys=[key]) as [request]:
        until(seated)
        monkeypatch.setattr(waiting.Transfer.objects, "filter", gone)
        answer = request.result(5)
    assert asked.is_set()
    assert answer.status_code == 202
    monkeypatch.undo()
    with paying(ada, wait=10, keys=[str(uuid4())]) as [request]:
        until(seated)
        dispatch()
        assert request.result(5).status_code == 201, "nobody asks any more in this process"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"WAITING_THREADS": 2, "WEB_THREADS": 7}, "ledgerline.E003"),
        ({"LONGEST_WAIT": checks.settings.WEB_TIMEOUT}, "ledgerline.E002"),
    ],
)
def test_settings_that_would_keep_others_out_are_refused_at_start(
    settings, given: dict[str, Any], error: str
) -> None:
    settings.WAITING_THREADS = 1
    assert checks.waiting_leaves_room(None) == []
    for name, value in given.items():
        setattr(settings, name, value)
    assert [found.id for found in checks.waiting_leaves_room(None)] == [error]
