"""Faults: whatever breaks, nothing half done is committed and nothing false is answered (15-18, 35)."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import HttpResponse
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from idempotency import Transient
from tests.integration.idempotency import views
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows, succeeds, writes_then

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


@pytest.mark.parametrize(
    "error", [Transient(retry_after=7), OperationalError("deadlock detected")], ids=repr
)
def test_a_transient_failure_may_try_again_under_its_key(
    ada: Phone, stage_: Stage, key: str, error: Exception
) -> None:
    stage_.act = writes_then(error)
    failed = ada.send(key)
    assert failed.status_code == 503
    assert int(failed.headers["Retry-After"]) >= 1
    assert failed.json()["code"] == "unavailable"
    assert failed.json()["retry"] == "same_key"
    assert (effects(), rows()) == (0, [])
    stage_.act = succeeds
    assert (ada.send(key).status_code, effects()) == (201, 1)


@pytest.mark.parametrize(
    "sql", ["SELECT pg_sleep(5)", "SELECT pg_terminate_backend(pg_backend_pid())"]
)
def test_a_statement_that_times_out_or_loses_its_connection_is_unavailable(
    ada: Phone, stage_: Stage, key: str, settings: Any, sql: str
) -> None:
    settings.IDEMPOTENCY = {"STATEMENT_TIMEOUT": timedelta(milliseconds=200)}

    def act(request: Any) -> Response:
        effect(request)
        with connection.cursor() as cursor:
            cursor.execute(sql)
        return Response({})

    stage_.act = act
    assert ada.send(key).status_code == 503
    connection.close()
    assert (effects(), rows()) == (0, [])


def test_a_stopped_process_loses_its_claim_after_the_idle_timeout(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"IDLE_TIMEOUT": timedelta(milliseconds=100)}

    def act(request: Any) -> Response:
        effect(request)
        time.sleep(0.5)
        effect(request)
        return Response({})

    stage_.act = act
    assert ada.send(key).status_code == 503
    connection.close()
    assert (effects(), rows()) == (0, [])


@pytest.mark.parametrize("path", ["/required/", "/plain/"])
def test_an_unhandled_exception_rolls_back_and_stays_an_error(
    ada: Phone, stage_: Stage, key: str, path: str
) -> None:
    stage_.act = writes_then(ZeroDivisionError())
    assert ada.send(key, path=path).status_code == 500
    assert (effects(), rows()) == (0, [])
    stage_.act = succeeds if path == "/required/" else lambda r: HttpResponse(str(effect(r)))
    assert ada.send(key, path=path).status_code in {200, 201}
    assert effects() == 1


def test_an_answer_that_cannot_be_rendered_rolls_back(ada: Phone, stage_: Stage, key: str) -> None:
    def act(request: Any) -> Response:
        effect(request)
        return Response({"n": object()})

    stage_.act = act
    assert ada.send(key).status_code == 500
    assert (effects(), rows()) == (0, [])


def test_a_commit_that_fails_is_never_a_success(ada: Phone, stage_: Stage, key: str) -> None:
    def act(request: Any) -> Response:
        return Response({"n": effect(request, twin=-1)}, status=201)

    stage_.act = act  # the deferred foreign key is checked by COMMIT, after the view's 201
    failed = ada.send(key)
    assert failed.status_code == 500, "the client was told 201 for work that did not commit"
    assert (effects(), rows()) == (0, [])
    stage_.act = succeeds
    again = ada.send(key)
    assert (again.status_code, effects()) == (201, 1)
    assert MARKER not in again.headers, "a success that never happened was replayed"


def test_postgresql_unavailable_at_the_claim_is_503_and_runs_nothing(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = succeeds
    connection.close()
    port, connection.settings_dict["PORT"] = connection.settings_dict["PORT"], "1"
    try:
        refused = ada.send(key)
    finally:
        connection.settings_dict["PORT"] = port
        connection.close()
    assert refused.status_code == 503
    assert refused.headers["Retry-After"]
    assert stage_.calls == 0, "the handler ran without a claim"
    assert ada.send(key).status_code == 201


def test_a_view_inside_another_transaction_is_refused_clearly(stage_: Stage) -> None:
    stage_.act = succeeds
    request = APIRequestFactory().post(
        "/required/", {}, format="json", headers={"Idempotency-Key": "k", "X-User": str(ADA)}
    )
    with pytest.raises(ImproperlyConfigured, match="ATOMIC_REQUESTS"), transaction.atomic():
        views.Required.as_view()(request)
    assert stage_.calls == 0


def test_a_handler_that_swallows_a_database_error_is_a_bug_and_commits_nothing(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Response:
        effect(request)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1/0")
        except DatabaseError:
            pass
        return Response({}, status=201)

    stage_.act = act
    assert ada.send(key).status_code == 500
    assert (effects(), rows()) == (0, [])


def test_a_success_whose_writes_are_to_be_rolled_back_is_a_bug_and_stores_nothing(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Response:
        response = Response({"n": effect(request)}, status=201)
        transaction.set_rollback(True)  # as Model.save() does before a caught IntegrityError
        return response

    stage_.act = act
    assert ada.send(key).status_code == 500
    assert (effects(), rows()) == (0, []), "a 201 was stored for writes that were rolled back"
    stage_.act = succeeds
    assert (ada.send(key).status_code, effects()) == (201, 1)


def test_a_returned_refusal_may_have_its_writes_rolled_back(
    ada: Phone, stage_: Stage, key: str
) -> None:
    def act(request: Any) -> Response:
        effect(request)
        transaction.set_rollback(True)
        return Response({"why": "no"}, status=402)

    stage_.act = act
    assert ada.send(key).status_code == 402
    assert (effects(), rows()) == (0, [(key, "failed", 402)])
    assert ada.send(key).headers[MARKER] == "true"
