"""The defer exit: the outcome comes later, by `complete()`, or is on record already."""

from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from django.http import HttpResponse
from rest_framework.response import Response

from idempotency import AlreadyApplied, Answer, Progress, Transient, answer_of, complete
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows, writes_then

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


def test_a_deferred_key_waits_for_whoever_learns_the_outcome(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Any:
        accepted = Response({"n": effect(request)}, status=202, headers={"Location": "/t/1"})
        return request.idempotency.defer(accepted)

    def tell(request: Any, record: Any) -> Progress:
        return Progress({"state": "pending", "ref": record.reference}, {"Location": "/t/1"}, 9)

    stage_.act, stage_.progress = act, tell
    assert ada.send(key).status_code == 202
    assert (effects(), rows()) == (1, [(key, "in_progress", None)])
    meanwhile = ada.send(key)
    assert meanwhile.status_code == 409
    assert meanwhile.headers["Retry-After"] == "9"
    assert meanwhile.headers["Location"] == "/t/1"
    assert meanwhile.json()["state"] == "pending"
    assert meanwhile.json()["code"] == "in_progress"
    assert MARKER not in meanwhile.headers
    assert ada.send(key, {"amount": 2}).status_code == 422, "another body waits for a deferred key"
    answer = Answer(201, (("Content-Type", "application/json"),), b'{"done": true}')
    with transaction.atomic():
        complete(ADA, key, answer)
        transaction.set_rollback(True)
    assert ada.send(key).status_code == 409, "complete() did not join the caller's transaction"
    with transaction.atomic():
        assert complete(ADA, key, answer) is True
    final = ada.send(key)
    assert (final.status_code, final.content, final.headers[MARKER]) == (201, answer.body, "true")
    assert complete(ADA, key, Answer(400, (), b"no")) is False, "a final answer was overwritten"
    assert complete(ADA, "unknown", answer) is False
    assert (ada.send(key).content, stage_.calls) == (answer.body, 1)


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")], ids=repr)
def test_an_open_key_stays_a_409_when_its_operation_cannot_be_described(
    ada: Phone, stage_: Stage, key: str, error: Exception
) -> None:
    def tell(request: Any, record: Any) -> Progress:
        raise error

    stage_.act = lambda request: request.idempotency.defer(Response(status=202))
    stage_.progress = tell
    ada.send(key)
    meanwhile = ada.send(key)
    assert (meanwhile.status_code, meanwhile.json()["code"]) == (409, "in_progress")
    assert meanwhile.headers["Retry-After"] == "1"


@pytest.mark.parametrize(
    "state",
    [
        "locked_until = clock_timestamp() + '1 min', claim_token = gen_random_uuid()",
        "held_at = clock_timestamp(), hold_reason = 'time-out'",
    ],
    ids=["leased", "held"],
)
def test_complete_touches_deferred_keys_only(
    ada: Phone, stage_: Stage, key: str, state: str
) -> None:
    stage_.act = lambda request: request.idempotency.defer(Response(status=202))
    ada.send(key)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE idempotency_keys SET {state}")
    assert complete(ADA, key, Answer(201, (), b"")) is False
    expected = {"leased": (409, "in_progress"), "held": (202, "outcome_unknown")}
    answer = ada.send(key)
    name = "held" if "held_at" in state else "leased"
    assert (answer.status_code, answer.json()["code"]) == expected[name]
    assert int(answer.headers["Retry-After"]) >= 1


def test_what_follows_the_commit_sees_it_is_in_no_transaction_and_may_answer(
    ada: Phone, stage_: Stage, key: str
) -> None:
    seen: list[Any] = []

    def then() -> HttpResponse:
        seen.append((effects(), rows(), connection.in_atomic_block))
        return HttpResponse(b"later", status=200, headers={"X-Later": "1"})

    def act(request: Any) -> Any:
        return request.idempotency.defer(Response({"n": effect(request)}, status=202), then=then)

    stage_.act, stage_.progress = act, lambda request, record: Progress()
    answer = ada.send(key)
    assert (answer.status_code, answer.content, answer["X-Later"]) == (200, b"later", "1")
    assert seen == [(1, [(key, "in_progress", None)], False)], "it ran before the commit"
    assert MARKER not in answer.headers
    assert (ada.send(key).status_code, len(seen)) == (409, 1), "what it answered was stored"


@pytest.mark.parametrize("fails", [True, False], ids=["raises", "has nothing to say"])
def test_nothing_after_the_commit_spoils_the_provisional_answer(
    ada: Phone, stage_: Stage, key: str, fails: bool
) -> None:
    def then() -> None:
        if fails:
            raise ValueError("no")

    def act(request: Any) -> Any:
        return request.idempotency.defer(Response({"n": effect(request)}, status=202), then=then)

    stage_.act = act
    answer = ada.send(key)
    assert (answer.status_code, answer.json()) == (202, {"n": 1})
    assert (effects(), rows()) == (1, [(key, "in_progress", None)])


def test_nothing_follows_a_rollback(ada: Phone, stage_: Stage, key: str) -> None:
    seen: list[int] = []

    def act(request: Any) -> Any:
        request.idempotency.defer(Response(status=202), then=lambda: seen.append(1))
        raise Transient

    stage_.act = act
    assert ada.send(key).status_code == 503
    assert seen == []


def test_the_stored_answer_can_be_asked_for(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = lambda request: request.idempotency.defer(Response(status=202))
    assert answer_of(ADA, key) is None
    ada.send(key)
    assert answer_of(ADA, key) is None
    final = Answer(201, (("Content-Type", "text/plain"),), b"done")
    complete(ADA, key, final)
    assert answer_of(ADA, key) == final


def test_an_applied_reference_answers_after_its_key_is_gone(
    ada: Phone, stage_: Stage, key: str
) -> None:
    answer = Answer(201, (("Content-Type", "text/plain"), ("Location", "/t/1")), b"original")

    def act(request: Any) -> Response:
        effect(request)
        raise AlreadyApplied(answer, request.idempotency.fingerprint)

    stage_.act = act
    for _ in range(2):
        again = ada.send(key)
        assert (again.status_code, again.content) == (201, b"original")
        assert again.headers[MARKER] == "true"
    assert (effects(), stage_.calls) == (0, 1)
    stage_.act = writes_then(AlreadyApplied(answer, "0" * 64))
    other = ada.send("used-long-ago")
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert [row[0] for row in rows()] == [key]
