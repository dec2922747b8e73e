"""What is stored and what is rolled back, for every way out of a handler (13-16, 37)."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from idempotency import Refusal
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows, succeeds, writes_then

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


class NoMoney(Refusal):
    """The account does not hold enough money for this."""

    code = "insufficient_balance"


class Busy(Refusal):
    """Somebody else is changing this account."""

    code = "account_busy"
    status = 409


def test_a_refusal_undoes_its_writes_and_is_the_answer_for_ever(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = writes_then(NoMoney("You have NGN 1.00.", available=100))
    first = ada.send(key)
    stage_.act = succeeds
    again = ada.send(key)
    assert first.status_code == 400
    assert first.json()["code"] == "insufficient_balance"
    assert first.json()["title"] == "The account does not hold enough money for this."
    assert first.json()["available"] == 100
    assert (first.json()["retry"], first.json()["safe_new_key"]) == ("new_key", True)
    assert (again.content, again.headers[MARKER]) == (first.content, "true")
    assert (effects(), stage_.calls) == (0, 1), "a refusal kept its writes, or was decided twice"
    assert rows() == [(key, "failed", 400)]
    assert ada.send("another").status_code == 201


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/required/", exceptions.NotFound()),
        ("/required/", exceptions.PermissionDenied()),
        ("/required/", Http404()),
        ("/required/", PermissionDenied()),
        ("/plain/", Http404()),
        ("/plain/", PermissionDenied()),
    ],
    ids=repr,
)
def test_every_other_4xx_that_the_handler_raises_is_decided(
    ada: Phone, stage_: Stage, key: str, error: Exception, path: str
) -> None:
    stage_.act = writes_then(error)
    first = ada.send(key, path=path)
    again = ada.send(key, path=path)
    assert first.status_code in {403, 404}
    assert (again.content, again.headers.get(MARKER)) == (first.content, "true")
    assert (effects(), stage_.calls) == (0, 1)


@pytest.mark.parametrize("status", [400, 402, 404, 422])
def test_a_returned_refusal_keeps_its_writes_and_is_stored(
    ada: Phone, stage_: Stage, key: str, status: int
) -> None:
    def act(request: Any) -> Response:
        return Response({"n": effect(request)}, status=status)

    stage_.act = act
    first, again = ada.send(key), ada.send(key)
    assert (first.status_code, again.content) == (status, first.content)
    assert again.headers[MARKER] == "true"
    assert (effects(), stage_.calls) == (1, 1)


@pytest.mark.parametrize(
    "error",
    [
        exceptions.ValidationError({"amount": ["too small"]}),
        exceptions.ParseError(),
        exceptions.UnsupportedMediaType("text/html"),
        exceptions.Throttled(wait=3),
        Busy(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_is_not_decided_leaves_the_key_unused(
    ada: Phone, stage_: Stage, key: str, error: Exception
) -> None:
    stage_.act = writes_then(error)
    first, second = ada.send(key, {"amount": -5}), ada.send(key, {"amount": -5})
    assert first.status_code == second.status_code in {400, 409, 415, 429}
    assert MARKER not in second.headers
    assert (effects(), rows()) == (0, [])
    stage_.act = succeeds
    assert ada.send(key).status_code == 201, "the corrected body was refused under its key"


@pytest.mark.parametrize("status", [409, 425, 429, 500, 502, 503])
def test_a_returned_not_now_rolls_back(ada: Phone, stage_: Stage, key: str, status: int) -> None:
    def act(request: Any) -> Response:
        return Response({"n": effect(request)}, status=status)

    stage_.act = act
    assert ada.send(key).status_code == status
    assert (effects(), rows()) == (0, []), "writes of a transient failure were committed"
    stage_.act = succeeds
    assert ada.send(key).status_code == 201
    assert effects() == 1
