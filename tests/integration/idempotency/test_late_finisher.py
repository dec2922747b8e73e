"""A request that comes back after its lease: it commits nothing and calls nobody (19)."""

from functools import partial
from typing import Any

import pytest
from django.db import transaction
from rest_framework.response import Response

from idempotency import Answer, ClaimLost, NotDone, Unknown, leases, store
from tests.concurrency.fulfilments import at_once
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects
from tests.integration.idempotency.test_takeover import LEASE, MARKER, died, send

pytestmark = COMMITTING

LATE = (
    "a late finisher committed: neither its lock on the row nor the statement that settles it asks "
    "for the claim's token"
)


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


def test_a_late_finisher_is_rolled_back_and_replays_the_other_answer(
    ada: Phone, stage_: Stage, key: str
) -> None:
    """It comes back between its call and its last writes."""

    def late(request: Any) -> Any:
        request.idempotency.sending()
        desk.order(request.idempotency.reference)
        desk.run_out()
        stage_.act, stage_.recover = desk.orders, lambda record: NotDone()
        second.append(send(ada, key))
        with request.idempotency.settling():
            wrote.append(effect(request, "late"))
            return Response({"n": "late"}, status=201)

    second: list[Any] = []
    wrote: list[int] = []
    stage_.act = late
    first = send(ada, key)
    assert second[0].status_code == 201
    assert effects() == 1, LATE
    assert not wrote, "a late finisher got as far as its writes: its lock on the row is missing"
    assert (first.content, first.headers[MARKER]) == (second[0].content, "true")
    assert send(ada, key).content == second[0].content


@pytest.mark.parametrize("end", ["answer", "transient", "error"])
def test_a_late_finisher_without_last_writes_changes_nothing_either(
    ada: Phone, stage_: Stage, key: str, end: str
) -> None:
    def late(request: Any) -> Any:
        request.idempotency.sending()
        desk.run_out()
        stage_.recover = lambda record: Unknown("not yet")
        assert send(ada, key).status_code == 202
        if end == "error":
            raise ZeroDivisionError
        return Response({"n": "late"}, status=201 if end == "answer" else 503)

    stage_.act = late
    answer = send(ada, key)
    assert (answer.status_code, answer.json()["code"]) == (202, "outcome_unknown")
    assert desk.standing()["hold_reason"] == "not yet", "a late finisher spoke for its successor"


def test_a_late_starter_makes_no_call(ada: Phone, stage_: Stage, key: str) -> None:
    def late(request: Any) -> Any:
        desk.run_out()
        stage_.act = desk.orders
        assert send(ada, key).status_code == 201
        request.idempotency.sending()
        raise AssertionError("the mark let a call be made whose key belongs to somebody else")

    stage_.act = late
    answer = send(ada, key)
    assert (answer.status_code, answer.headers[MARKER]) == (201, "true")
    assert (effects(), list(desk.books.values())) == (1, [1])


def test_each_of_two_guards_stops_a_late_finisher_alone(
    ada: Phone, stage_: Stage, key: str
) -> None:
    """The lock comes before the writes, the token in the statement comes after them."""
    died(ada, stage_, key, marked=True)
    old = desk.standing()["claim_token"]
    desk.run_out()
    row = store.read(ADA, key)
    assert row is not None
    own = {"fingerprint": row.record.fingerprint, "lease": LEASE}
    assert leases.take_over(ADA, key, **own) is not None
    with pytest.raises(ClaimLost), transaction.atomic():
        leases.lock(ADA, key, token=old)
    with pytest.raises(ClaimLost), transaction.atomic():
        store.settle(ADA, key, Answer(201, (), b"late"), token=old)
    for late in (leases.release, partial(leases.hold, reason="late")):
        with pytest.raises(ClaimLost):
            late(ADA, key, token=old)


def test_a_takeover_compares_the_request_once_more_and_waits_for_nobody(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=True)
    token = desk.standing()["claim_token"]
    desk.run_out()
    row = store.read(ADA, key)
    assert row is not None
    own = {"fingerprint": row.record.fingerprint, "lease": LEASE}
    assert leases.take_over(ADA, key, **(own | {"fingerprint": "0" * 64})) is None, (
        "a request whose body was not compared in the statement itself took the key over"
    )

    def other() -> object:
        return leases.take_over(ADA, key, **own), leases.take_due("stage.leased", lease=LEASE)

    with transaction.atomic():  # its owner is late, and just now writing its last rows
        leases.lock(ADA, key, token=token)
        assert at_once(other) == [(None, None)], "taken while its owner commits"
        answer = at_once(lambda: send(ada, key))[0]
        assert (answer.status_code, answer.json()["code"]) == (409, "in_progress")
    assert leases.take_over(ADA, key, **own) is not None
