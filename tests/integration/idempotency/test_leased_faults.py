"""Leased mode when something breaks: what is told is what is known (18, 36)."""

from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection, transaction
from rest_framework.response import Response

from idempotency import ClaimLost
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows
from tests.integration.idempotency.test_leased import send

pytestmark = COMMITTING


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


def test_returning_after_the_block_commits_with_the_answer(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Any:
        with request.idempotency.settling():
            effect(request, twin=-1)  # refused by COMMIT only
        assert connection.in_atomic_block, "the last writes were committed without their answer"
        return Response({}, status=201)

    stage_.act = act
    assert send(ada, key).status_code == 500, "a success was answered that did not commit"
    assert (effects(), rows()) == (0, [])


def test_a_settling_that_fails_after_the_call_is_unknown_and_runs_no_second_effect(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Any:
        request.idempotency.sending()
        desk.order(request.idempotency.reference)
        with request.idempotency.settling():
            effect(request, twin=-1)  # COMMIT refuses the answer's transaction
            return Response({}, status=201)

    stage_.act, stage_.recover = act, desk.asks
    answer = send(ada, key)
    assert (answer.status_code, answer.json()["code"]) == (202, "outcome_unknown")
    assert (effects(), desk.standing()["hold_reason"]) == (0, IntegrityError.__name__)
    desk.run_out()
    found = send(ada, key)
    assert (found.status_code, found.content) == (201, b'{"n":"found"}')
    assert (stage_.calls, stage_.asked, list(desk.books.values())) == (1, 1, [1])


@pytest.mark.parametrize("marked", [False, True], ids=["before the mark", "after the mark"])
def test_a_database_that_is_gone_at_the_end_is_told_as_it_is(
    ada: Phone, stage_: Stage, key: str, marked: bool
) -> None:
    def act(request: Any) -> Any:
        if marked:
            request.idempotency.sending()
        connection.close()
        connection.settings_dict["PORT"] = "1"
        return Response({}, status=201)

    port = connection.settings_dict["PORT"]
    stage_.act = act
    try:
        answer = send(ada, key)
    finally:
        connection.settings_dict["PORT"] = port
        connection.close()
    expected = (202, "outcome_unknown") if marked else (503, "unavailable")
    assert (answer.status_code, answer.json()["code"]) == expected
    now = desk.standing()
    assert (now["leased"], now["sent"], now["held"]) == (True, marked, False)


@pytest.mark.parametrize("inside", [False, True], ids=["in the handler", "while it settles"])
def test_a_connection_lost_after_the_call_is_held_at_once(
    ada: Phone, stage_: Stage, key: str, inside: bool
) -> None:
    def act(request: Any) -> Any:
        request.idempotency.sending()
        with (
            request.idempotency.settling() if inside else nullcontext(),
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        raise AssertionError("the connection is alive")

    stage_.act = act
    answer = send(ada, key)
    assert (answer.status_code, answer.json()["code"]) == (202, "outcome_unknown")
    assert desk.standing()["held"], "left to its lease, although PostgreSQL is there again"


def test_postgresql_unavailable_at_the_claim_runs_nothing(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = desk.orders
    connection.close()
    port, connection.settings_dict["PORT"] = connection.settings_dict["PORT"], "1"
    try:
        refused = send(ada, key)
    finally:
        connection.settings_dict["PORT"] = port
        connection.close()
    assert (refused.status_code, stage_.calls) == (503, 0)


def test_a_call_that_the_lease_does_not_cover_is_not_made(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"LEASE": timedelta(seconds=5), "DEADLINE": timedelta(seconds=10)}
    lost: list[Exception] = []

    def act(request: Any) -> Any:
        try:
            request.idempotency.sending()
        except ClaimLost as error:
            lost.append(error)
            raise
        return desk.orders(request)

    stage_.act = act
    answer = send(ada, key)
    assert (answer.status_code, answer.json()["retry"], rows()) == (503, "same_key", [])
    assert lost, "a call was allowed that outlasts the lease"
    assert not desk.books


def test_the_mark_is_refused_inside_a_transaction(ada: Phone, stage_: Stage, key: str) -> None:
    told: list[str] = []

    def act(request: Any) -> Any:
        for inside in (transaction.atomic, request.idempotency.settling):
            with pytest.raises(ImproperlyConfigured) as refused, inside():
                request.idempotency.sending()
            told.append(str(refused.value))
        with pytest.raises(ImproperlyConfigured, match="atomic"):
            request.idempotency.defer(None)
        return Response({})

    stage_.act = act
    assert send(ada, key).status_code == 200
    assert all("commits its mark" in sentence for sentence in told)
