"""A request that came to no end: who asks, who runs again, who only waits (19, 20, C014, C016)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from rest_framework.response import Response

from idempotency import Answer, Done, NotDone, Unknown, store
from idempotency.contract import Record
from tests.concurrency.fulfilments import at_once
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"
PATH = "/leased/"
LEASE = timedelta(seconds=30)


class Died(BaseException):
    """As a killed process: nothing of the contract's runs after this."""


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


def send(phone: Phone, key: str, body: Any = None) -> Any:
    return phone.send(key, body, path=PATH)


def died(phone: Phone, stage: Stage, key: str, *, marked: bool, called: bool = False) -> None:
    """The first request dies before or after its mark, or with the other system's answer."""

    def act(request: Any) -> Any:
        if marked:
            request.idempotency.sending()
        if called:
            desk.order(request.idempotency.reference)
        raise Died

    stage.act = act
    with pytest.raises(Died):
        send(phone, key)
    assert desk.standing()["leased"] is True


def held(phone: Phone, stage: Stage, key: str) -> None:
    died(phone, stage, key, marked=True)
    desk.run_out()
    stage.recover = lambda record: Unknown("the desk is closed")
    assert send(phone, key).status_code == 202
    assert desk.standing()["held"] is True
    stage.asked = 0


def test_before_the_lease_is_over_nobody_takes_over(ada: Phone, stage_: Stage, key: str) -> None:
    died(ada, stage_, key, marked=True)
    stage_.act = desk.orders
    answer = send(ada, key)
    assert (answer.status_code, answer.json()["code"]) == (409, "in_progress")
    assert (stage_.calls, stage_.asked) == (1, 0)


def test_a_crash_before_the_mark_runs_again_without_a_question(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=False)
    desk.run_out()
    stage_.act = desk.orders
    answer = send(ada, key)
    assert (answer.status_code, MARKER in answer.headers) == (201, False)
    assert (stage_.asked, effects(), list(desk.books.values())) == (0, 1, [1])


def test_after_the_mark_it_is_asked_first_and_settled_by_what_is_found(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=True, called=True)
    desk.run_out()

    def found() -> Answer:
        assert connection.in_atomic_block, "found rows are not written in the settling transaction"
        effect(stage_.requests[0])
        return Answer(201, (("Location", "/o/1"),), b"found")

    records: list[Record] = []

    def recover(record: Record) -> Done:
        assert not connection.in_atomic_block, "the other system is asked inside a transaction"
        records.append(record)
        return Done(found)

    stage_.recover = recover
    answers = [send(ada, key) for _ in range(2)]
    assert [(a.status_code, a.content, a.headers[MARKER]) for a in answers] == [
        (201, b"found", "true")
    ] * 2
    assert (stage_.calls, stage_.asked, effects()) == (1, 1, 1)
    asked = records[0]
    assert (asked.scope, asked.key, asked.operation) == (ADA, key, "stage.leased")
    assert asked.reference in desk.books
    assert asked.sent_at is not None


def test_what_did_not_happen_runs_again_under_a_new_token(
    ada: Phone, stage_: Stage, key: str
) -> None:
    died(ada, stage_, key, marked=True)
    before = desk.standing()["claim_token"]
    desk.run_out()
    tokens: list[Any] = []

    def act(request: Any) -> Any:
        now = desk.standing()
        tokens.append(now["claim_token"])
        assert (now["sent"], now["leased"]) == (False, True), "it runs under the old mark or lease"
        return desk.orders(request)

    stage_.act, stage_.recover = act, lambda record: NotDone()
    answer = send(ada, key)
    assert (answer.status_code, MARKER in answer.headers) == (201, False)
    assert (stage_.asked, effects()) == (1, 1)
    assert before not in tokens


def test_what_cannot_be_told_is_held_and_asked_once_per_back_off(
    ada: Phone, stage_: Stage, key: str
) -> None:
    held(ada, stage_, key)
    now = desk.standing()
    assert (now["hold_reason"], now["waits"]) == ("the desk is closed", True)
    for _ in range(3):
        answer = send(ada, key)
        assert (answer.status_code, answer.json()["code"]) == (202, "outcome_unknown")
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert stage_.asked == 0, "each retry asks the other system again"
    desk.run_out()
    for _ in range(3):
        assert send(ada, key).status_code == 202
    assert stage_.asked == 1


@pytest.mark.parametrize(("happened", "status"), [(True, 201), (False, 201)])
def test_a_held_key_ends_as_what_is_found_later(
    ada: Phone, stage_: Stage, key: str, happened: bool, status: int
) -> None:
    held(ada, stage_, key)
    if happened:
        desk.books[store.read(ADA, key).record.reference] = 1  # type: ignore[union-attr]
    desk.run_out()
    stage_.act, stage_.recover = desk.orders, desk.asks
    answer = send(ada, key)
    assert (answer.status_code, answer.headers.get(MARKER)) == (201, "true" if happened else None)
    assert (send(ada, key).content, stage_.asked) == (answer.content, 1)
    assert (effects(), list(desk.books.values())) == (0 if happened else 1, [1])
    assert rows() == [(key, "completed", 201)]


@pytest.mark.parametrize("state", ["leased", "expired", "held", "held, due", "freed"])
def test_another_body_never_has_the_key_and_changes_nothing(
    ada: Phone, stage_: Stage, key: str, state: str
) -> None:
    if state.startswith("held"):
        held(ada, stage_, key)
    else:
        died(ada, stage_, key, marked=state != "freed")
    if state not in {"leased", "held"}:
        desk.run_out()
    before, calls = desk.standing(), stage_.calls
    stage_.act, stage_.recover = desk.orders, None
    answer = send(ada, key, {"amount": 2})
    assert (answer.status_code, answer.json()["code"]) == (422, "key_reused"), state
    assert (desk.standing(), stage_.calls, stage_.asked) == (before, calls, 0)


@pytest.mark.parametrize(
    "recover",
    [
        lambda record: 1 / 0,
        lambda record: Done(Answer(503, (), b"")),
        lambda record: Done(lambda: Answer(409, (), b"")),
        lambda record: Done(lambda: 1 / 0),  # type: ignore[arg-type, return-value]
        lambda record: Unknown(""),
    ],
)
def test_a_hook_that_fails_leaves_it_unknown(
    ada: Phone, stage_: Stage, key: str, recover: Any
) -> None:
    died(ada, stage_, key, marked=True)
    desk.run_out()
    stage_.recover = recover
    assert send(ada, key).status_code == 202
    now = desk.standing()
    assert now["held"]
    assert now["hold_reason"]
    assert now["waits"]


def test_of_two_retries_at_once_one_takes_over(ada: Phone, stage_: Stage, key: str) -> None:
    died(ada, stage_, key, marked=True)
    desk.run_out()
    stage_.act, stage_.recover = desk.orders, desk.asks
    answers = at_once(*[lambda: send(ada, key)] * 6)
    statuses = sorted(a.status_code for a in answers)  # type: ignore[union-attr]
    assert effects() == 1, f"two took the key over and ran: {statuses}"
    assert set(statuses) <= {201, 409}, statuses
    assert stage_.asked == 1, f"{stage_.asked} asked about one key"


@pytest.mark.parametrize("seconds", [0, 1, 2])
def test_a_lease_of_any_length_runs_out(
    ada: Phone, stage_: Stage, key: str, settings: Any, seconds: int
) -> None:
    settings.IDEMPOTENCY = {"LEASE": timedelta(seconds=seconds)}

    def act(request: Any) -> Any:
        raise Died

    stage_.act = act
    with pytest.raises(Died):
        send(ada, key)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT round(extract(epoch FROM locked_until - created_at)) FROM idempotency_keys"
        )
        assert cursor.fetchone()[0] == seconds, "the lease is not in seconds"
        cursor.execute("SELECT pg_sleep(%s)", [seconds])
    stage_.act = lambda request: Response({}, status=201)
    assert send(ada, key).status_code == 201
