"""ATOMIC_REQUESTS on and off: the same answers, the same rows, whatever the view does (37)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection, connections, transaction
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.response import Response

from idempotency import OutcomeUnknown, Refusal, Transient
from idempotency.testing import at_once
from tests.integration.idempotency import views
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import (
    Stage,
    effect,
    effects,
    rows,
    succeeds,
    writes_then,
)

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


class NoMoney(Refusal):
    """The account does not hold enough money for this."""

    code = "insufficient_balance"


@contextmanager
def atomic_requests() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
        yield


@pytest.fixture
def atomic() -> Iterator[None]:
    with atomic_requests():
        yield


def raises(error: Exception) -> Callable[[Any], Any]:
    def act(request: Any) -> Any:
        raise error

    return act


RETURNED = [200, 201, 204, 303, 400, 402, 404, 409, 422, 500, 503]
RAISED = [
    NoMoney("You have NGN 1.00."),
    Transient(retry_after=7),
    exceptions.ValidationError({"amount": ["too small"]}),
    exceptions.ParseError(),
    exceptions.NotFound(),
    exceptions.Throttled(wait=3),
    exceptions.APIException("a 500 that the view renders"),
    Http404("no such account"),
    PermissionDenied(),
    ZeroDivisionError(),
]


def answers(path: str, status: int) -> Callable[[Any], Any]:
    def act(request: Any) -> Any:
        effect(request)
        if path == "/required/" or "leased/" in path:
            return Response({"status": status}, status=status)
        return HttpResponse(b'{"status": true}', status=status, content_type="application/json")

    return act


def observed(phone: Phone, key: str, path: str) -> dict[str, Any]:
    """All that a client and the database know after a request and its retry."""
    before = effects()
    sent = [phone.send(key, path=path) for _ in "ab"]
    said = [(a.status_code, a.content, sorted(a.headers.items())) for a in sent]
    stored = [(status, code) for name, status, code in rows() if name == key]
    return {"said": said, "stored": stored, "effects": effects() - before}


@pytest.mark.parametrize("path", ["/required/", "/plain/"])
@pytest.mark.parametrize("outcome", [*RETURNED, *RAISED], ids=repr)
def test_a_request_ends_the_same_with_atomic_requests_on_and_off(
    ada: Phone, stage_: Stage, path: str, outcome: Any
) -> None:
    stage_.act = answers(path, outcome) if isinstance(outcome, int) else writes_then(outcome)
    off = observed(ada, "off", path)
    with atomic_requests():
        on = observed(ada, "on", path)
    for part in off:
        assert on[part] == off[part], f"{part}: ATOMIC_REQUESTS changes what becomes of a request"


@pytest.mark.parametrize("marked", [False, True], ids=["before the mark", "after the mark"])
@pytest.mark.parametrize(
    "outcome", [201, 402, 503, NoMoney(), OutcomeUnknown(), exceptions.NotFound()], ids=repr
)
def test_a_leased_request_ends_the_same_with_atomic_requests_on_and_off(
    ada: Phone, stage_: Stage, marked: bool, outcome: Any
) -> None:
    def act(request: Any) -> Any:
        assert not connection.in_atomic_block, "a transaction is open around an external call"
        if marked:
            request.idempotency.sending()
        with request.idempotency.settling():
            return ends(request)

    ends = answers("leased/", outcome) if isinstance(outcome, int) else writes_then(outcome)
    stage_.act = act
    off = observed(ada, "off", "/leased/")
    with atomic_requests():
        on = observed(ada, "on", "/leased/")
    assert on == off, "ATOMIC_REQUESTS changes what becomes of a leased request"


VIEWS = ["seen", "inherits", "mixed", "generic", "actions/pay", "plain-subclass"]
BUILT_IN = ["required", "set", "function", "plain", "class"]


@pytest.mark.parametrize("view", [*BUILT_IN, *VIEWS])
def test_every_form_of_a_guarded_view_works_under_atomic_requests(
    ada: Phone, stage_: Stage, key: str, view: str, atomic: None
) -> None:
    def act(request: Any) -> Any:
        effect(request, "business")
        raise Http404

    stage_.act = act
    first, again = ada.send(key, path=f"/{view}/"), ada.send(key, path=f"/{view}/")
    assert (first.status_code, again.content) == (404, first.content)
    assert again.headers.get(MARKER) == "true", (
        f"{view}: the refusal was rolled back with its claim"
    )
    assert (stage_.calls, rows()) == (1, [(key, "failed", 404)])


def test_the_unguarded_actions_of_a_guarded_viewset_keep_their_transaction(
    ada: Phone, stage_: Stage, key: str, atomic: None
) -> None:
    stage_.act = writes_then(exceptions.NotFound())
    for path, method in [("/set/", "put"), ("/actions/note/", "post")]:
        assert ada.send(key, path=path, method=method).status_code == 404
        assert effects() == 0, f"{path}: an unguarded action has lost its ATOMIC_REQUESTS"
    stage_.act = lambda request: Response({"atomic": connection.in_atomic_block})
    for path, method in [("/set/", "put"), ("/required/", "get"), ("/actions/note/", "post")]:
        assert ada.send(None, path=path, method=method).json() == {"atomic": True}
    assert ada.send(None, path="/batch/").json() == {"atomic": True}


def test_of_many_at_once_one_runs_under_atomic_requests(
    ada: Phone, stage_: Stage, key: str, atomic: None
) -> None:
    def act(request: Any) -> Response:
        number = effect(request)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.3)")  # long enough for the others to meet it
        return Response({"n": number}, status=201)

    stage_.act = act
    at_once(lambda: ada.send(key), effects=effects, times=8)
    assert (stage_.calls, rows()) == (1, [(key, "completed", 201)])
    assert ada.send(key).headers[MARKER] == "true"


def test_what_authentication_writes_is_kept_as_without_atomic_requests(
    ada: Phone, stage_: Stage, key: str, atomic: None
) -> None:
    stage_.act = writes_then(ZeroDivisionError())
    assert ada.send(key, path="/seen/").status_code == 500
    assert (effects(), rows()) == (1, []), "the business row stayed, or the sign-in was lost"


def test_a_view_in_a_transaction_of_somebody_else_is_refused(
    ada: Phone, stage_: Stage, key: str, atomic: None
) -> None:
    stage_.act = succeeds
    for path in ("/wrapped/", "/exempt/"):
        assert ada.send(key, path=path).status_code == 500, f"{path} ran in another transaction"
    assert (stage_.calls, rows()) == (0, [])


def test_a_lost_database_is_a_503_under_atomic_requests_too(
    ada: Phone, stage_: Stage, key: str, atomic: None
) -> None:
    def act(request: Any) -> Response:
        effect(request)
        connection.settings_dict["PORT"] = "1"
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return Response({})

    stage_.act = act
    port = connection.settings_dict["PORT"]
    try:
        lost = ada.send(key)
    finally:
        connection.settings_dict["PORT"] = port
        connection.close()
    assert (lost.status_code, lost.json()["code"]) == (503, "unavailable")
    assert not connection.in_atomic_block, "the connection is left inside a block that is over"
    assert (effects(), rows()) == (0, [])
    stage_.act = succeeds
    assert ada.send(key).status_code == 201


@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
def test_an_adopters_test_case_sees_the_same(
    ada: Phone, stage_: Stage, on: bool, monkeypatch: Any
) -> None:
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", on)
    stage_.act = raises(exceptions.NotFound())
    around = transaction.atomic()
    around._from_testcase = True
    with around:
        for path in ("/required/", "/leased/"):
            sent = [ada.send("k" + path, path=path) for _ in "ab"]
            assert [a.headers.get(MARKER) for a in sent] == [None, "true"], path
        transaction.set_rollback(True)


def test_an_unhandled_error_is_reported_once(
    ada: Phone, stage_: Stage, key: str, monkeypatch: Any
) -> None:
    seen: list[Exception] = []
    plain = views.Required.handle_exception

    def handle_exception(self: Any, error: Exception) -> Any:
        seen.append(error)
        return plain(self, error)

    monkeypatch.setattr(views.Required, "handle_exception", handle_exception)
    stage_.act = writes_then(ZeroDivisionError())
    assert ada.send(key).status_code == 500
    assert len(seen) == 1, "the view's exception handler was asked twice about one error"
