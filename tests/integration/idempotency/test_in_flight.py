"""While the first request runs: the others are answered at once, by whom they may be (6, 7, 9, 17)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections
from rest_framework.response import Response

from idempotency.testing import at_once
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


def closing(call: Any, *arguments: Any) -> Any:
    """Run in a thread of its own, with a connection of its own that is closed again."""
    try:
        return call(*arguments)
    finally:
        connections.close_all()


@contextmanager
def first_in_flight(phone: Phone, stage: Stage, key: str) -> Iterator[Any]:
    """The first request stands inside its handler; on leaving it finishes, and its answer is filled in."""
    inside, go_on = threading.Event(), threading.Event()

    def act(request: Any) -> Response:
        number = effect(request)
        inside.set()
        assert go_on.wait(10)
        return Response({"n": number}, status=201)

    stage.act = act
    answers: list[Any] = []
    thread = threading.Thread(target=closing, args=(lambda: answers.append(phone.send(key)),))
    thread.start()
    assert inside.wait(10), "the first request never reached its handler"
    try:
        yield answers
    finally:
        go_on.set()
        thread.join(10)


def test_the_second_request_is_told_at_once_and_replays_later(
    ada: Phone, bola: Phone, stage_: Stage, key: str
) -> None:
    with first_in_flight(ada, stage_, key) as answers:
        began = time.monotonic()
        same, other = ada.send(key), ada.send(key, {"amount": 2})
        took = time.monotonic() - began
        for second in (same, other):
            assert second.status_code == 409, second.content
            assert int(second.headers["Retry-After"]) >= 1
            assert second.json()["code"] == "in_progress"
            assert second.json()["retry"] == "same_key"
            assert MARKER not in second.headers
        assert took < 2, f"the second request waited {took:.1f} s for the first"
        stage_.act = lambda request: Response({"n": effect(request)}, status=201)
        assert bola.send(key).status_code == 201, "another user's key was locked too"
    replay = ada.send(key)
    assert (replay.status_code, replay.content) == (201, answers[0].content)
    assert replay.headers[MARKER] == "true"
    assert ada.send(key, {"amount": 2}).status_code == 422
    assert effects() == 2


def test_twenty_requests_at_once_are_one_effect(ada: Phone, stage_: Stage, key: str) -> None:
    def act(request: Any) -> Response:
        number = effect(request)
        time.sleep(0.2)
        return Response({"n": number}, status=201)

    stage_.act = act
    answers = at_once(lambda: ada.send(key), times=20, effects=effects)
    assert {a.status_code for a in answers} <= {201, 409}, [a.status_code for a in answers]


def test_a_first_request_that_dies_leaves_the_key_free_at_once(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Response:
        effect(request)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            killed.append(cursor.fetchone()[0])
        inside.set()
        assert go_on.wait(10)
        return Response({}, status=201)

    killed: list[int] = []
    inside, go_on = threading.Event(), threading.Event()
    stage_.act = act
    answers: list[Any] = []
    thread = threading.Thread(target=closing, args=(lambda: answers.append(ada.send(key)),))
    thread.start()
    assert inside.wait(10)
    with connection.cursor() as cursor:  # what PostgreSQL sees of a kill -9 of the worker
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", killed)
    stage_.act = lambda request: Response({"n": effect(request)}, status=201)
    assert ada.send(key).status_code == 201, "a dead request still holds the key"
    go_on.set()
    thread.join(10)
    assert answers[0].status_code == 503, "a request whose commit was lost answered success"
    assert (effects(), rows()) == (1, [(key, "completed", 201)])
