"""Leased mode: every way out of a handler that calls another system (13-16, 18, 36, C020, C021)."""

from typing import Any

import pytest
from django.db import OperationalError, connection
from django.http import JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from idempotency import (
    AlreadyApplied,
    Answer,
    NothingHappened,
    OutcomeUnknown,
    Refusal,
    Transient,
)
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import (
    Act,
    Stage,
    effect,
    effects,
    rows,
    succeeds,
    writes_then,
)

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"
PATH = "/leased/"


class NoMoney(Refusal):
    """The account does not hold enough money for this."""

    code = "insufficient_balance"


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


def send(phone: Phone, key: str, body: Any = None, path: str = PATH) -> Any:
    return phone.send(key, body, path=path)


def marks_then(error: Exception) -> Act:
    def act(request: Any) -> Any:
        request.idempotency.sending()
        effect(request)
        raise error

    return act


@pytest.mark.parametrize("path", [PATH, "/leased-plain/"])
def test_mark_call_and_settle_answer_once_and_replay(
    ada: Phone, stage_: Stage, key: str, path: str
) -> None:
    def act(request: Any) -> Any:
        assert not connection.in_atomic_block, "the handler runs inside a transaction"
        seen.append(desk.standing())
        answer = desk.orders(request)
        if path == PATH:
            return answer
        answer.accepted_renderer, answer.accepted_media_type = _json(), "application/json"
        answer.renderer_context = {}
        return answer

    seen: list[dict[str, Any]] = []
    stage_.act = act
    first, again = send(ada, key, path=path), send(ada, key, path=path)
    assert (first.status_code, again.content) == (201, first.content)
    assert (MARKER in first.headers, again.headers.get(MARKER)) == (False, "true")
    assert (seen[0]["status"], seen[0]["leased"], seen[0]["sent"]) == ("in_progress", True, False)
    assert (effects(), list(desk.books.values()), stage_.calls) == (1, [1], 1)
    assert rows() == [(key, "completed", 201)]


def test_a_handler_without_last_writes_settles_too(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = lambda request: Response({"pong": True}, status=200)
    first, again = send(ada, key), send(ada, key)
    assert (first.status_code, again.content, again.headers[MARKER]) == (200, first.content, "true")


def test_a_leased_replay_and_a_reused_key_take_one_statement_of_postgresql(
    ada: Phone, stage_: Stage, key: str, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.IDEMPOTENCY = {"CACHE": None}
    stage_.act = lambda request: Response({"pong": True}, status=200)
    send(ada, key)
    with django_assert_num_queries(1):
        assert send(ada, key).headers[MARKER] == "true"
    with django_assert_num_queries(1):
        assert send(ada, key, {"amount": 2}).status_code == 422


@pytest.mark.parametrize("path", [PATH, "/leased-plain/"])
def test_a_handler_may_leave_its_last_writes_to_the_claim(
    ada: Phone, stage_: Stage, key: str, path: str
) -> None:
    def write() -> Any:
        assert connection.in_atomic_block, "the last writes would not commit with the answer"
        return JsonResponse({"n": effect(stage_.requests[0])}, status=201)

    stage_.act = lambda request: request.idempotency.settle_with(write)
    first, again = send(ada, key, path=path), send(ada, key, path=path)
    assert (first.status_code, again.content) == (201, first.content)
    assert (again.headers[MARKER], effects(), stage_.calls) == ("true", 1, 1)


@pytest.mark.parametrize("marked", [False, True], ids=["before the mark", "after the mark"])
@pytest.mark.parametrize("returned", [False, True], ids=["raised", "returned"])
def test_a_refusal_is_the_answer_for_ever(
    ada: Phone, stage_: Stage, key: str, marked: bool, returned: bool
) -> None:
    def act(request: Any) -> Any:
        if marked:
            request.idempotency.sending()
        with request.idempotency.settling():
            effect(request)
            if returned:
                return Response({"no": "money"}, status=402)
            raise NoMoney(available=3)

    stage_.act = act
    first, again = send(ada, key), send(ada, key)
    assert (first.status_code, first.content) == (402 if returned else 400, again.content)
    assert (again.headers[MARKER], stage_.calls) == ("true", 1)
    assert effects() == (1 if returned else 0), (
        "a raised refusal undoes its writes, a returned keeps"
    )
    assert rows() == [(key, "failed", first.status_code)]


NOT_STORED = [
    exceptions.ValidationError({"amount": ["too small"]}),
    exceptions.ParseError(),
    exceptions.UnsupportedMediaType("text/html"),
    exceptions.Throttled(wait=3),
    Transient(retry_after=7),
    NothingHappened(),
    OperationalError("deadlock detected"),
    ZeroDivisionError(),
    TimeoutError(),
]


@pytest.mark.parametrize("error", NOT_STORED, ids=lambda error: type(error).__name__)
def test_what_is_not_stored_releases_before_the_mark(
    ada: Phone, stage_: Stage, key: str, error: Exception
) -> None:
    def act(request: Any) -> Any:
        with request.idempotency.settling():
            effect(request)
            raise error

    stage_.act = act
    failed = send(ada, key)
    assert failed.status_code in {400, 415, 429, 500, 503}
    assert (effects(), rows()) == (0, []), "the key was kept although nothing can have happened"
    stage_.act = desk.orders
    assert send(ada, key, {"amount": 2}).status_code == 201, "a released key refuses another body"


@pytest.mark.parametrize("error", NOT_STORED, ids=lambda error: type(error).__name__)
def test_what_is_not_stored_holds_after_the_mark(
    ada: Phone, stage_: Stage, key: str, error: Exception
) -> None:
    stage_.act = marks_then(error)
    answer = send(ada, key)
    if isinstance(error, NothingHappened):  # the one proof that releases
        assert (answer.status_code, rows()) == (503, [])
        return
    assert (answer.status_code, answer.json()["code"]) == (202, "outcome_unknown"), answer.content
    assert answer.json()["retry"] == "same_key"
    assert answer.json()["safe_new_key"] is False
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert MARKER not in answer.headers
    now = desk.standing()
    assert (now["held"], now["sent"], now["waits"], now["leased"]) == (True, True, True, None)
    assert now["hold_reason"], "staff see a hold without a reason"
    again = send(ada, key)
    assert (again.status_code, stage_.calls, stage_.asked) == (202, 1, 0)
    assert send(ada, key, {"amount": 2}).status_code == 422, "another body has a held key"


@pytest.mark.parametrize("status", [409, 425, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("marked", [False, True], ids=["before the mark", "after the mark"])
def test_a_returned_not_now_releases_or_holds(
    ada: Phone, stage_: Stage, key: str, status: int, marked: bool
) -> None:
    def act(request: Any) -> Any:
        if marked:
            request.idempotency.sending()
        with request.idempotency.settling():
            return Response({"n": effect(request)}, status=status)

    stage_.act = act
    answer = send(ada, key)
    assert answer.status_code == (202 if marked else status)
    assert effects() == 0, "the writes of a 'not now' were committed"
    assert len(rows()) == marked
    if marked:
        assert desk.standing()["hold_reason"] == f"the handler answered {status}"


def test_a_handler_may_say_that_it_does_not_know(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = marks_then(OutcomeUnknown("no whole answer within 3 s"))
    answer = send(ada, key)
    assert (answer.status_code, answer.json()["code"]) == (202, "outcome_unknown")
    assert desk.standing()["hold_reason"] == "no whole answer within 3 s"


def test_an_applied_reference_answers_after_its_key_is_gone(
    ada: Phone, stage_: Stage, key: str
) -> None:
    answer = Answer(201, (("Content-Type", "text/plain"), ("Location", "/t/1")), b"original")

    def act(request: Any) -> Any:
        raise AlreadyApplied(answer, request.idempotency.fingerprint)

    stage_.act = act
    for _ in range(2):
        again = send(ada, key)
        assert (again.status_code, again.content) == (201, b"original")
        assert (again.headers["Location"], again.headers[MARKER]) == ("/t/1", "true")
    stage_.act = writes_then(AlreadyApplied(answer, "0" * 64))
    other = send(ada, "used-long-ago")
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert [row[0] for row in rows()] == [key]
    stage_.act = marks_then(AlreadyApplied(answer, "0" * 64))
    assert send(ada, "called-before-it-looked").status_code == 202, "released after its mark"


def test_a_leased_request_in_flight_is_seen_by_everybody(
    ada: Phone, bola: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Any:
        stage_.act = desk.orders
        during.append(send(ada, key))
        during.append(send(ada, key, {"amount": 2}))
        during.append(send(bola, key))
        return desk.orders(request)

    during: list[Any] = []
    stage_.act = act
    assert send(ada, key).status_code == 201
    assert [a.status_code for a in during] == [409, 422, 201]
    assert 25 <= int(during[0].headers["Retry-After"]) <= 30, "it is not told how long the lease is"
    assert effects(ADA) == 1


def test_atomic_and_leased_keep_out_of_each_others_way(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = desk.orders
    assert send(ada, key).status_code == 201
    stage_.act = succeeds
    assert ada.send(key).status_code == 422, "another path was answered"


def _json() -> Any:
    from rest_framework.renderers import JSONRenderer

    return JSONRenderer()
