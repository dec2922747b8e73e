"""A held key that a person decided about: what its client gets then, and who can no longer undo it."""

import logging
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection

from idempotency import Answer, Done, OutcomeUnknown, Unknown, held, store, sweeps
from idempotency.held import Seen
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows
from tests.integration.idempotency.test_takeover import held as leave_held
from tests.integration.idempotency.test_takeover import send

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"
ANSWER = Answer(201, (("Content-Type", "application/json"),), b'{"order": "by hand"}')


@dataclass
class Person:
    """Somebody who may decide."""

    def has_perm(self, permission: str) -> bool:
        return True

    def get_username(self) -> str:
        return "senior"


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


def seen(key: str) -> Seen:
    row = store.read(ADA, key)
    assert row is not None
    assert row.record.held_at is not None
    return Seen(ADA, key, row.record.held_at, row.record.next_check_at)


def settle(key: str) -> None:
    held.settle(seen(key), user=Person(), answer=ANSWER, reason="their statement")


def release(key: str) -> None:
    held.release(seen(key), user=Person(), reason="they never heard of it")


def test_what_a_person_says_is_what_every_retry_gets(ada: Phone, stage_: Stage, key: str) -> None:
    leave_held(ada, stage_, key)
    settle(key)
    for _ in range(2):
        answer = send(ada, key)
        assert (answer.status_code, answer.content) == (201, ANSWER.body)
        assert (answer.headers[MARKER], answer.headers["Content-Type"]) == (
            "true",
            "application/json",
        )
    assert send(ada, key, {"amount": 2}).status_code == 422
    desk.run_out()
    assert (sweeps.recover_due(), stage_.calls, stage_.asked) == (0, 1, 0)


def test_a_released_key_runs_the_same_request_and_no_other(
    ada: Phone, stage_: Stage, key: str
) -> None:
    leave_held(ada, stage_, key)
    release(key)
    assert (sweeps.release_abandoned(), sweeps.recover_due()) == (0, 0), "a sweep took it"
    stage_.act = desk.orders
    assert send(ada, key, {"amount": 2}).status_code == 422, "another body has a released key"
    answer = send(ada, key)
    assert (answer.status_code, MARKER in answer.headers) == (201, False)
    assert (effects(), list(desk.books.values()), stage_.asked) == (1, [1], 0)
    assert send(ada, key).headers[MARKER] == "true"


def test_a_request_that_wakes_up_after_a_person_decided_changes_nothing(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def sleeps(request: Any) -> Any:
        request.idempotency.sending()
        desk.run_out()
        stage_.recover = lambda record: Unknown("closed")
        assert sweeps.recover_due() == 1
        settle(key)
        with request.idempotency.settling():
            effect(request)
            raise AssertionError("it may write although a person gave the key its answer")

    stage_.act = sleeps
    answer = send(ada, key)
    assert (answer.status_code, answer.content) == (201, ANSWER.body), (
        "it answers as if it were first"
    )
    assert (effects(), rows()) == (0, [(key, "completed", 201)])


def refuse(key: str) -> None:
    refusal = Answer(400, ANSWER.headers, b'{"code": "refused"}')
    held.settle(seen(key), user=Person(), answer=refusal, reason="their statement")


@pytest.mark.parametrize(
    ("decide", "reported"),
    [(settle, []), (refuse, ["recovery_late"]), (release, ["recovery_late"])],
)
def test_what_is_found_after_a_person_decided_changes_nothing_and_is_reported_if_it_denies_that(
    ada: Phone, stage_: Stage, key: str, decide: Any, reported: list[str], caplog: Any
) -> None:
    leave_held(ada, stage_, key)
    desk.run_out()
    standing: list[Any] = []

    def decided_meanwhile(record: Any) -> object:
        decide(key)
        standing.append(store.read(ADA, key).record)  # type: ignore[union-attr]
        return Done(Answer(201, (), b"found"))

    stage_.recover = decided_meanwhile
    assert sweeps.recover_due() == 1
    errors = [getattr(r, "action", r) for r in caplog.records if r.levelno >= logging.ERROR]
    assert errors == reported, "it happened, a person said something else, and nobody hears of it"
    assert store.read(ADA, key).record == standing[0], "a decision of a person was overwritten"  # type: ignore[union-attr]


def test_the_reason_of_a_hold_keeps_no_whole_account_number(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Any:
        request.idempotency.sending()
        raise OutcomeUnknown("no answer about 0123456789, token=s3cr3t")

    stage_.act = act
    assert send(ada, key).status_code == 202
    with connection.cursor() as cursor:
        cursor.execute("SELECT hold_reason FROM idempotency_keys")
        assert cursor.fetchone()[0] == "no answer about ******6789, token=***"
