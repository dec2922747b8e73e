"""A web process or a sweep that is killed or frozen at every point of a leased request.

The oracle is the provider's own books: one checkout, whoever died, whoever came back.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psutil
import pytest
from django.db import connection

from idempotency import sweeps
from ledgerline.bank.models import Account, Payment
from tests.connectors.sandbox import until
from tests.integration.bank.conftest import customer
from tests.integration.bank.desk import Provider, provider
from tests.integration.bank.phone import Phone

pytestmark = [
    pytest.mark.django_db(
        transaction=True, available_apps=["idempotency", "fulfilment", "ledgerline.bank"]
    ),
    pytest.mark.processes,
]

BODY = {"amount": 500_00, "currency": "NGN", "phone": "+2348012345678"}
OTHER = BODY | {"amount": 700_00}
TIMES = {"LEASE": 2.0, "DEADLINE": 1.0, "MARGIN": 0.2, "RECHECK_FIRST": 0.3, "RECHECK_LAST": 1.0}
IDLE = timedelta(seconds=1.5)

TWO = "the customer has two checkouts for one tap"
POINTS = ["leased.claimed", "leased.marked", "leased.called", "leased.settling", "leased.settled"]


@pytest.fixture
def desk(settings: Any) -> Iterator[Provider]:
    limits = {name: timedelta(seconds=value) for name, value in TIMES.items()}
    settings.IDEMPOTENCY = {"CACHE": None} | limits
    with provider() as running:
        settings.CHECKOUT_DESK = running.settings
        yield running


@pytest.fixture
def payer(transactional_db: None) -> Account:
    return customer("ada", number="0123456780")


@pytest.fixture
def key() -> str:
    return str(uuid4())


def process(desk: Provider, *arguments: str, **where: str) -> subprocess.Popen[str]:
    """A real process of the service; it dies or freezes where the environment says."""
    database = connection.settings_dict
    place = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
    environment = (
        os.environ
        | {f"IDEMPOTENCY_{name}": str(value) for name, value in TIMES.items()}
        | {
            "DATABASE_URL": f"postgresql://{database['USER']}:{database['PASSWORD']}@{place}",
            "IDLE_IN_TRANSACTION_TIMEOUT": str(IDLE.total_seconds()),
            "DESK_URL": desk.settings["URL"],
            **where,
        }
    )
    command = [sys.executable, "-m", "tests.concurrency.payment_worker", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def paying(desk: Provider, payer: Account, key: str, **where: str) -> subprocess.Popen[str]:
    order = {"user": str(payer.owner_id), "key": key, "body": BODY}
    return process(desk, "pay", json.dumps(order), **where)


def killed(running: subprocess.Popen[str], point: str) -> None:
    said, _ = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGKILL, f"it did not reach {point}; it said {said!r}"


def frozen(running: subprocess.Popen[str], point: str) -> None:
    own = psutil.Process(running.pid)
    until(lambda: own.status() == psutil.STATUS_STOPPED, what=f"the process at {point}", seconds=60)


def woken(running: subprocess.Popen[str]) -> dict[str, Any]:
    running.send_signal(signal.SIGCONT)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 0, said
    return dict(json.loads(said))


def tap(payer: Account, key: str, body: Any = BODY) -> Any:
    return Phone(payer).pay(body, key=key, path="/v1/payments")


def final(payer: Account, key: str) -> Any:
    """The phone's retries until it is told; only what says "the same key" may come before that."""
    answers: list[Any] = []

    def told() -> bool:
        answers.append(tap(payer, key))
        assert answers[-1].status_code in {201, 202, 409}, answers[-1].content
        return bool(answers[-1].status_code == 201)

    until(told, what="a final answer for the phone", seconds=20)
    return answers[-1]


def assert_one_checkout(desk: Provider, payer: Account, key: str) -> None:
    answer = final(payer, key)
    assert len(desk.books) == 1, TWO
    assert max(desk.openings.values()) <= 2, desk.openings
    [payment] = Payment.objects.all()
    [(reference, checkout)] = desk.books.items()
    assert (payment.reference, payment.checkout_id) == (reference, checkout["id"])
    assert answer.json()["id"] == str(payment.pk)
    assert tap(payer, key).content == answer.content
    assert tap(payer, key, OTHER).status_code == 422


@pytest.mark.parametrize("point", POINTS)
def test_a_request_killed_anywhere_opens_one_checkout_for_whoever_retries(
    desk: Provider, payer: Account, key: str, point: str
) -> None:
    killed(paying(desk, payer, key, IDEMPOTENCY_KILL_AT=point), point)
    if point != "leased.settled":
        assert tap(payer, key).status_code == 409, "taken over while its lease still ran"
        assert tap(payer, key, OTHER).status_code == 422, "another body has the key of a dead one"
    assert_one_checkout(desk, payer, key)
    asked = {"leased.claimed": 0, "leased.settled": 0}.get(point, 1)
    assert desk.questions == asked, "asked where nothing was sent, or not asked where it may be"


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS[1:4])
def test_a_request_killed_after_its_mark_is_swept_without_its_client(
    desk: Provider, payer: Account, key: str, point: str
) -> None:
    killed(paying(desk, payer, key, IDEMPOTENCY_KILL_AT=point), point)
    until(sweeps.recover_due, what="the sweep to take the key", seconds=20)
    opened = point != "leased.marked"
    assert (len(desk.books), Payment.objects.count()) == (opened, opened)
    assert tap(payer, key, OTHER).status_code == 422
    assert tap(payer, key).status_code == 201
    assert_one_checkout(desk, payer, key)


@pytest.mark.long
@pytest.mark.parametrize("point", ["leased.taken", "leased.asked"])
@pytest.mark.parametrize("who", ["sweep", "retry"])
def test_whoever_takes_over_may_die_as_well(
    desk: Provider, payer: Account, key: str, point: str, who: str
) -> None:
    killed(paying(desk, payer, key, IDEMPOTENCY_KILL_AT="leased.called"), "leased.called")
    until(_is_due, what="the lease to run out", seconds=20)
    second = (
        process(desk, "sweep", IDEMPOTENCY_KILL_AT=point)
        if who == "sweep"
        else paying(desk, payer, key, IDEMPOTENCY_KILL_AT=point)
    )
    killed(second, point)
    assert not Payment.objects.exists()
    assert_one_checkout(desk, payer, key)


@pytest.mark.parametrize(
    "point", [*POINTS[:2], *(pytest.param(p, marks=pytest.mark.long) for p in POINTS[2:4])]
)
def test_a_request_frozen_past_its_lease_commits_nothing_when_it_wakes_up(
    desk: Provider, payer: Account, key: str, point: str
) -> None:
    first = paying(desk, payer, key, IDEMPOTENCY_STOP_AT=point)
    try:
        frozen(first, point)
        answer = final(payer, key)
        payment = Payment.objects.get()
    finally:
        late = woken(first)
    assert (late["status"], late["body"], late["replayed"]) == (
        201,
        answer.content.decode(),
        "true",
    ), f"a late finisher told its client something else: {late}"
    assert list(Payment.objects.all()) == [payment], "a late finisher committed its writes"
    assert len(desk.books) == 1, TWO
    assert max(desk.openings.values()) <= (2 if point == "leased.marked" else 1)


def test_a_request_frozen_past_its_lease_says_what_is_known_when_nobody_knows(
    desk: Provider, payer: Account, key: str
) -> None:
    """Its successor could not ask: the key is held, and the late one neither settles nor frees it."""
    first = paying(desk, payer, key, IDEMPOTENCY_STOP_AT="leased.called")
    try:
        frozen(first, "leased.called")
        desk.can_be_asked = False
        until(sweeps.recover_due, what="the sweep to hold the key", seconds=20)
    finally:
        late = woken(first)
    assert late["status"] == 202, late
    assert not Payment.objects.exists(), "a late finisher settled a held key"
    desk.can_be_asked = True
    assert_one_checkout(desk, payer, key)


@pytest.mark.long
def test_two_sweeps_and_the_client_at_once_open_one_checkout(
    desk: Provider, payer: Account, key: str
) -> None:
    killed(paying(desk, payer, key, IDEMPOTENCY_KILL_AT="leased.called"), "leased.called")
    until(_is_due, what="the lease to run out", seconds=20)
    crowd = [process(desk, "sweep"), process(desk, "sweep"), paying(desk, payer, key)]
    for member in crowd:
        said, _ = member.communicate(timeout=60)
        assert member.returncode == 0, said
    assert desk.questions == 1, f"{desk.questions} asked about one key"
    assert_one_checkout(desk, payer, key)


def _is_due() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT locked_until < clock_timestamp() FROM idempotency_keys")
        return bool(cursor.fetchone()[0])
