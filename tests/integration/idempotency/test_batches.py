"""What travels together still fails, commits and is seen as if each statement had gone alone (18, C025)."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from rest_framework.exceptions import ParseError
from rest_framework.response import Response

from idempotency import Refusal, Transient, batches
from idempotency.models import IdempotencyKey
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows, succeeds, writes_then

pytestmark = COMMITTING


class NoMoney(Refusal):
    """No money."""

    code = "no_money"


@pytest.fixture(params=["in batches", "one by one", "prepared"])
def sent(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """How statements go: as one trip; as a driver without pipelines sends them; and prepared, with
    parameters that the server binds."""
    if request.param == "one by one":
        monkeypatch.setattr(batches, "_can_pipeline", lambda: False)
    if request.param == "prepared":
        connection.close()
        bound = {"server_side_binding": True, "prepare_threshold": 0}
        options = connection.settings_dict["OPTIONS"] | bound
        monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    yield
    if request.param == "prepared":
        connection.close()


def test_success_refusal_and_their_replays_are_the_same_either_way(
    ada: Phone, stage_: Stage, sent: None
) -> None:
    stage_.act = succeeds
    paid, paid_again = ada.send("paid"), ada.send("paid")
    stage_.act = writes_then(NoMoney())
    refused, refused_again = ada.send("refused"), ada.send("refused")
    assert (paid.status_code, refused.status_code) == (201, 400)
    assert (paid_again.content, refused_again.content) == (paid.content, refused.content)
    assert rows() == [("paid", "completed", 201), ("refused", "failed", 400)]
    assert effects() == 1, "the refusal kept its writes, or the success lost them"


def test_what_is_not_decided_leaves_nothing_behind(
    ada: Phone, stage_: Stage, key: str, sent: None
) -> None:
    stage_.act = lambda request: Response({"n": effect(request)}, status=409)
    assert (ada.send(key).status_code, effects(), rows()) == (409, 0, [])
    stage_.act = writes_then(Transient())
    assert (ada.send(key).status_code, effects(), rows()) == (503, 0, [])
    stage_.act = writes_then(ParseError())
    assert (ada.send(key).status_code, effects(), rows()) == (400, 0, [])
    stage_.act = succeeds
    assert (ada.send(key).status_code, effects()) == (201, 1)


def test_a_commit_that_fails_takes_the_answer_with_it(
    ada: Phone, stage_: Stage, key: str, sent: None
) -> None:
    told: list[str] = []

    def act(request: Any) -> Response:
        transaction.on_commit(lambda: told.append("committed"))
        return Response({"n": effect(request, twin=-1)}, status=201)

    stage_.act = act
    assert ada.send(key).status_code == 500, "the client was told 201 for work that did not commit"
    assert (effects(), rows(), told) == (0, [], []), "a hook ran for what never committed"
    stage_.act = succeeds
    assert (ada.send(key).status_code, effects()) == (201, 1)


def gone(request: Any) -> None:
    IdempotencyKey.objects.all().delete()


def answered(request: Any) -> None:
    IdempotencyKey.objects.update(
        status="completed",
        response_code=200,
        response_headers=[],
        response_body=b"",
        completed_at="2026-01-01T00:00:00Z",
    )


@pytest.mark.parametrize("lose", [gone, answered])
def test_an_answer_that_finds_no_open_claim_undoes_everything(
    ada: Phone, stage_: Stage, key: str, sent: None, lose: Callable[[Any], None]
) -> None:
    """COMMIT is on its way behind the answer and must not be reached."""

    def act(request: Any) -> Response:
        effect(request)
        lose(request)
        return Response({}, status=201)

    stage_.act = act
    assert ada.send(key).status_code == 500
    assert (effects(), rows()) == (0, []), "writes were committed without their answer"


def test_hooks_run_after_the_commit_and_see_their_own_results(
    ada: Phone, stage_: Stage, key: str, sent: None
) -> None:
    seen: list[Any] = []

    def act(request: Any) -> Response:
        number = effect(request)
        transaction.on_commit(lambda: seen.append((effects(), connection.in_atomic_block)))
        return Response({"n": number}, status=201)

    stage_.act = act
    ada.send(key)
    assert seen == [(1, False)], "a hook ran inside the batch, or before the COMMIT was answered"


def test_a_hook_of_a_refusal_never_runs(ada: Phone, stage_: Stage, key: str, sent: None) -> None:
    ran: list[str] = []

    def act(request: Any) -> Response:
        transaction.on_commit(lambda: ran.append("hook"))
        raise NoMoney

    stage_.act = act
    assert (ada.send(key).status_code, ran) == (400, []), "a hook ran for what was undone"


def test_a_handler_may_read_locked_rows_piece_by_piece(
    ada: Phone, stage_: Stage, key: str, sent: None
) -> None:
    """PostgreSQL has no cursor FOR UPDATE that outlives its transaction, as one in autocommit would."""

    def act(request: Any) -> Response:
        effect(request)
        found = IdempotencyKey.objects.select_for_update().iterator(chunk_size=1)
        return Response({"n": len(list(found))}, status=201)

    stage_.act = act
    answer = ada.send(key)
    assert answer.json() == {"n": 1}, "psycopg still takes the claim's transaction for autocommit"


@transaction.atomic
def undone(request: Any) -> None:
    effect(request)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO stage_effects (owner) VALUES (NULL)")


def test_a_handler_keeps_savepoints_of_its_own(
    ada: Phone, stage_: Stage, key: str, sent: None
) -> None:
    def act(request: Any) -> Response:
        effect(request)
        with pytest.raises(IntegrityError):
            undone(request)
        return Response({"n": effect(request)}, status=201)

    stage_.act = act
    assert ada.send(key).status_code == 201
    assert effects() == 2


def test_a_connection_that_died_between_two_requests_is_replaced_before_anything_begins(
    ada: Phone, stage_: Stage, key: str, sent: None
) -> None:
    stage_.act = succeeds
    ada.send(key)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        died = cursor.fetchone()[0]
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [died])
    other.close()
    assert ada.send("next").status_code == 201, "a restart of PostgreSQL cost a client a 503"
    assert effects() == 2


@pytest.mark.parametrize("level", ["read committed", "serializable"])
def test_the_transaction_has_the_isolation_that_the_settings_ask_for(
    ada: Phone, stage_: Stage, key: str, sent: None, level: str
) -> None:
    from psycopg import IsolationLevel

    def act(request: Any) -> Response:
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            return Response(cursor.fetchone()[0])

    stage_.act = act
    connection.ensure_connection()
    connection.connection.isolation_level = IsolationLevel[level.upper().replace(" ", "_")]
    try:
        assert ada.send(key).json() == level, "our own BEGIN forgets what psycopg's would say"
    finally:
        connection.close()
