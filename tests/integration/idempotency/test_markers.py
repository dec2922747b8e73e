"""A client tells by code and headers what it has got and what to do next (cases C026, C045)."""

from typing import Any

import pytest
from django.http import HttpResponse

from idempotency import OutcomeUnknown, Refusal
from idempotency.testing import at_once
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, rows, succeeds
from tests.integration.idempotency.test_in_flight import first_in_flight

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


def refuses(request: Any) -> HttpResponse:
    raise Refusal("no money")


def told(answer: Any) -> tuple[int, str, str, bool]:
    """(status, code, advice, may come again later) of a problem."""
    body = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    return answer.status_code, body["code"], body["retry"], "Retry-After" in answer.headers


def test_running_and_reused_are_told_apart_and_neither_is_stored(
    ada: Phone, stage_: Stage, key: str
) -> None:
    with first_in_flight(ada, stage_, key) as answers:
        assert told(ada.send(key)) == (409, "in_progress", "same_key", True)
        assert rows() == [], "the answer to a second request is on record"
    assert told(ada.send(key, {"amount": 2})) == (422, "key_reused", "new_key", False)
    assert rows() == [(key, "completed", 201)]
    final = ada.send(key)
    assert (final.content, final.headers[MARKER]) == (answers[0].content, "true")


@pytest.mark.parametrize(("act", "status"), [(succeeds, 201), (refuses, 400)])
def test_a_replay_is_marked_whatever_it_says_and_nothing_else_is(
    ada: Phone, stage_: Stage, key: str, act: Any, status: int
) -> None:
    stage_.act = act
    first, again, reused = ada.send(key), ada.send(key), ada.send(key, {"amount": 2})
    assert [a.status_code for a in (first, again, reused)] == [status, status, 422]
    marked = [MARKER in a.headers for a in (first, again, reused, ada.send(None), ada.send("a,b"))]
    assert marked == [False, True, False, False, False], "a client takes one for the other"


def test_an_unknown_outcome_is_no_replay_however_often_it_is_told(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> HttpResponse:
        raise OutcomeUnknown

    stage_.act = act
    for _ in range(2):
        answer = ada.send(key, path="/leased/")
        assert told(answer) == (202, "outcome_unknown", "same_key", True)
        assert MARKER not in answer.headers


def test_of_many_at_once_one_answer_is_fresh(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = succeeds
    answers = at_once(lambda: ada.send(key), times=6)
    assert sum(MARKER not in a.headers for a in answers if a.status_code == 201) == 1
