"""What is stored, what is rolled back (scenarios 13-16, 18, 30-33, 35, 37 and the exits of atomic mode)."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import FileResponse, Http404, HttpResponse, StreamingHttpResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from idempotency import AlreadyApplied, Answer, Progress, Refusal, Transient, complete
from tests.integration.idempotency import views
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


class NoMoney(Refusal):
    """The account does not hold enough money for this."""

    code = "insufficient_balance"


class Busy(Refusal):
    """Somebody else is changing this account."""

    code = "account_busy"
    status = 409


def writes_then(error: Exception) -> Any:
    def act(request: Any) -> Response:
        effect(request)
        raise error

    return act


def succeeds(request: Any) -> Response:
    return Response({"n": effect(request)}, status=201)


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


@pytest.mark.parametrize("kind", ["large", "stream"])
def test_what_is_too_large_to_keep_is_delivered_whole_and_never_run_again(
    ada: Phone, stage_: Stage, key: str, settings: Any, kind: str
) -> None:
    settings.IDEMPOTENCY = {"MAX_RESPONSE_BYTES": 1000}

    def act(request: Any) -> Any:
        effect(request)
        parts = [b"x" * 600, b"y" * 600]
        made = HttpResponse(b"".join(parts)) if kind == "large" else StreamingHttpResponse(parts)
        made["Location"] = "/t/1"
        return made

    stage_.act = act
    first, again = ada.send(key), ada.send(key)
    body = b"".join(first.streaming_content) if first.streaming else first.content
    assert body == b"x" * 600 + b"y" * 600, "the first client did not get the whole body"
    assert (again.status_code, again.content) == (200, b"")
    assert again.headers["Idempotent-Body-Omitted"] == "true"
    assert again.headers["Location"] == "/t/1"
    assert again.headers[MARKER] == "true"
    assert (effects(), stage_.calls) == (1, 1), "a request ran again because of its answer's size"


def test_a_large_file_is_delivered_whole(
    ada: Phone, stage_: Stage, key: str, settings: Any, tmp_path: Any
) -> None:
    settings.IDEMPOTENCY = {"MAX_RESPONSE_BYTES": 5000}
    content = bytes(range(256)) * 64
    (tmp_path / "f.bin").write_bytes(content)
    stage_.act = lambda request: FileResponse((tmp_path / "f.bin").open("rb"))
    first, again = ada.send(key), ada.send(key)
    assert b"".join(first.streaming_content) == content
    first.close()
    assert (again.headers["Idempotent-Body-Omitted"], stage_.calls) == ("true", 1)


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
