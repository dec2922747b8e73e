"""A request that died before it sent anything leaves its key to nobody for ever (C014, G4)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from rest_framework.response import Response

from idempotency import NotDone, leases, store, sweeps
from tests.concurrency.fulfilments import at_once
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effects, rows
from tests.integration.idempotency.test_takeover import Died, died, held, send

pytestmark = COMMITTING


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


def test_what_sent_nothing_is_freed_without_its_clients_retry(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=False)
    assert sweeps.release_abandoned() == 0, "a request that is still running lost its key"
    desk.run_out()
    assert sweeps.release_abandoned() == 1
    assert rows() == [], "the key stays in progress until its client comes back"
    assert stage_.asked == 0, "the other system was asked about a call that was never made"
    stage_.act = desk.orders
    assert send(ada, key, {"amount": 2}).status_code == 201, "a freed key refuses a request"


@pytest.mark.parametrize("seconds", [-1, 0, 1])
def test_a_lease_of_any_length_is_over_after_it_and_one_sweep(
    ada: Phone, stage_: Stage, key: str, settings: Any, seconds: int
) -> None:
    """A lease of nothing is over at once, and not never (C016)."""
    settings.IDEMPOTENCY = {"LEASE": timedelta(seconds=seconds)}
    leave(ada, stage_, key)
    if seconds > 0:
        assert sweeps.release_abandoned() == 0, "a key was freed while its request had its lease"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(greatest(%s, 0))", [seconds])
    assert (sweeps.release_abandoned(), rows()) == (1, [])


@pytest.mark.parametrize("state", ["marked", "held", "found not to have happened"])
def test_what_the_other_system_may_have_heard_of_is_not_freed(
    ada: Phone, stage_: Stage, key: str, state: str
) -> None:
    if state == "held":
        held(ada, stage_, key)
    else:
        died(ada, stage_, key, marked=True)
    desk.run_out()
    if state.startswith("found"):
        stage_.recover = desk.asks
        assert sweeps.recover_due() == 1
    before = desk.standing()
    assert sweeps.release_abandoned() == 0
    assert desk.standing() == before, f"a key was freed that was {state}"


def test_a_deferred_key_is_not_freed(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = lambda request: request.idempotency.defer(Response({}, status=202))
    assert ada.send(key).status_code == 202
    assert sweeps.release_abandoned() == 0
    assert [status for _, status, _ in rows()] == ["in_progress"]


def test_a_reference_that_was_sent_once_is_never_used_for_another_request(
    ada: Phone, stage_: Stage, key: str
) -> None:
    """The other system takes the same reference for the same order, whatever is asked for then."""
    died(ada, stage_, key, marked=True)
    desk.run_out()
    stage_.recover = lambda record: NotDone()

    def dies_again(request: Any) -> Any:
        raise Died

    stage_.act = dies_again
    with pytest.raises(Died):
        send(ada, key)
    desk.run_out()
    assert sweeps.release_abandoned() == 0
    stage_.act = lambda request: (
        1 / 0
    )  # released before its mark: nothing happened this time either
    assert send(ada, key).status_code == 500
    stage_.act = desk.orders
    other = send(ada, key, {"amount": 2})
    assert other.status_code == 422, "another body was sent under a reference that was used"
    assert (send(ada, key).status_code, list(desk.books.values())) == (201, [1])


def test_a_retry_and_the_sweeps_at_once_run_the_request_once(ada: Phone, stage_: Stage) -> None:
    for n in range(4):
        died_key = f"abandoned-{n}"
        leave(ada, stage_, died_key)
        desk.run_out()
        stage_.act = desk.orders
        ended = at_once(
            *[sweeps.release_abandoned] * 3, *[lambda k=died_key: send(ada, k) for _ in range(3)]
        )
        assert not [e for e in ended if isinstance(e, BaseException)], ended
        answers = sorted(e.status_code for e in ended[3:])  # type: ignore[union-attr]
        assert set(answers) <= {201, 409}, answers
        assert send(ada, died_key).status_code == 201
        assert effects() == n + 1, "the request ran twice: once taken over and once freed"


def test_a_sweep_passes_over_a_key_that_a_retry_is_taking(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=False)
    desk.run_out()
    row = store.read(ADA, key)
    assert row is not None
    lease = timedelta(seconds=30)
    with transaction.atomic():
        taken = leases.take_over(ADA, key, fingerprint=row.record.fingerprint, lease=lease)
        [freed] = at_once(sweeps.release_abandoned)
    assert taken is not None
    assert freed == 0, f"the sweep waited for, or took, a key in somebody's hands: {freed!r}"
    assert desk.standing()["leased"] is True


def leave(phone: Phone, stage: Stage, key: str) -> None:
    def act(request: Any) -> Any:
        raise Died

    stage.act = act
    with pytest.raises(Died):
        send(phone, key)


def test_whoever_slept_longer_than_its_lease_cannot_send_any_more(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Any:
        desk.run_out()
        assert sweeps.release_abandoned() == 1
        return desk.orders(request)

    stage_.act = act
    answer = send(ada, key)
    assert (answer.status_code, answer.json()["code"]) == (409, "in_progress")
    assert (dict(desk.books), effects(), rows()) == ({}, 0, []), "it called after its key was freed"


def test_every_batch_is_bounded_and_all_are_freed(ada: Phone, stage_: Stage, settings: Any) -> None:
    settings.IDEMPOTENCY = {"BATCH": 2}
    for n in range(5):
        leave(ada, stage_, f"left-{n}")
    desk.run_out()
    with connection.cursor() as cursor:
        assert leases.forget_abandoned(batch=2) == 2
        cursor.execute("SELECT count(*) FROM idempotency_keys")
        assert cursor.fetchone()[0] == 3
    assert sweeps.release_abandoned() == 3
