"""Handlers that are awaited: the same exits as the others have, under WSGI and under ASGI (38)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import OperationalError, connection, connections
from django.http import FileResponse, Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.test import AsyncClient

from idempotency import (
    AlreadyApplied,
    Answer,
    NothingHappened,
    OutcomeUnknown,
    Refusal,
    Transient,
    sweeps,
)
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import ADA, B0, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"


class NoMoney(Refusal):
    """The account does not hold enough money for this."""

    code = "insufficient_balance"


class AsyncPhone(Phone):
    """Sends through Django's asynchronous handler."""

    def send(self, key: str | None, body: Any = None, *, path: str = "/async/", **_: Any) -> Any:
        named = {"Idempotency-Key": key, "X-User": str(self.user)}
        client = AsyncClient(raise_request_exception=False)
        sent = B0 if body is None else body
        return async_to_sync(client.post)(
            path, sent, content_type="application/json", headers=named
        )


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


@pytest.fixture(params=["WSGI", "ASGI"])
def phone(request: Any) -> Phone:
    return Phone(ADA) if request.param == "WSGI" else AsyncPhone(ADA)


def body(answer: Any) -> bytes:
    return answer.getvalue() if answer.streaming else answer.content


async def orders(request: Any) -> Any:
    """A handler as it should be: mark, call, then the last writes together with the answer."""
    claim = request.idempotency
    await claim.asending()
    await asyncio.sleep(0)
    desk.order(claim.reference)
    return claim.settle_with(lambda: JsonResponse({"n": effect(request)}, status=201))


@pytest.mark.parametrize(
    ("path", "atomic"), [("/async/", False), ("/async-class/", False), ("/async/", True)]
)
def test_an_awaited_handler_answers_once_and_replays(
    phone: Phone, stage_: Stage, key: str, path: str, atomic: bool, monkeypatch: Any
) -> None:
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", atomic)
    stage_.act = orders
    first, again = phone.send(key, path=path), phone.send(key, path=path)
    assert (first.status_code, again.content) == (201, first.content)
    assert (MARKER in first.headers, again.headers.get(MARKER)) == (False, "true")
    assert (effects(), list(desk.books.values()), stage_.calls) == (1, [1], 1)
    assert rows() == [(key, "completed", 201)]
    assert phone.send(key, {"amount": 2}, path=path).status_code == 422


ANSWERED = Answer(201, (("Content-Type", "text/plain"),), b"original")


def test_a_sync_view_under_an_async_server_keeps_out_of_atomic_requests_too(
    stage_: Stage, key: str, monkeypatch: Any
) -> None:
    def act(request: Any) -> Any:
        effect(request)
        raise NoMoney

    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    stage_.act = act
    first, again = (AsyncPhone().send(key, path="/required/") for _ in "ab")
    assert (first.status_code, again.content) == (400, first.content)
    assert (again.headers[MARKER], effects(), stage_.calls) == ("true", 0, 1)


OUTCOMES = [
    *[200, 204, 303, 402, 409, 500, 503],
    NoMoney("You have NGN 1.00."),
    Transient(retry_after=7),
    NothingHappened(),
    OutcomeUnknown("no whole answer within 3 s"),
    OperationalError("deadlock detected"),
    AlreadyApplied(ANSWERED, "0" * 64),
    ValidationError("not an amount"),
    Http404("no such account"),
    PermissionDenied(),
    ZeroDivisionError(),
    TimeoutError(),
]


def ends(outcome: Any) -> Callable[[Any], Any]:
    """The last step of a handler: it writes, then answers or raises."""

    def end(request: Any) -> Any:
        effect(request)
        if isinstance(outcome, Exception):
            raise outcome
        return HttpResponse(b"said", status=outcome)

    return end


def plainly(outcome: Any, *, marked: bool) -> Callable[[Any], Any]:
    def act(request: Any) -> Any:
        if marked:
            request.idempotency.sending()
        with request.idempotency.settling():
            return ends(outcome)(request)

    return act


def awaiting(outcome: Any, *, marked: bool, early: bool) -> Callable[[Any], Any]:
    async def act(request: Any) -> Any:
        if marked:
            await request.idempotency.asending()
        if early and isinstance(outcome, Exception):
            raise outcome
        return request.idempotency.settle_with(lambda: ends(outcome)(request))

    return act


def observed(phone: Phone, key: str, path: str) -> dict[str, Any]:
    """All that a client, the staff and the database know after a request and its retry."""
    before = effects()
    sent = [phone.send(key, path=path) for _ in "ab"]
    said = [(a.status_code, a.content, a.headers.get(MARKER)) for a in sent]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, response_code, hold_reason, sent_at IS NULL FROM idempotency_keys"
            " WHERE key = %s",
            [key],
        )
        return {"said": said, "row": cursor.fetchall(), "effects": effects() - before}


@pytest.mark.parametrize("outcome", OUTCOMES, ids=repr)
@pytest.mark.parametrize("marked", [False, True], ids=["before the mark", "after the mark"])
def test_an_awaited_handler_ends_as_one_that_is_not(
    ada: Phone, stage_: Stage, outcome: Any, marked: bool
) -> None:
    stage_.act = plainly(outcome, marked=marked)
    expected = observed(ada, "sync", "/leased-plain/")
    for early in (False, True) if isinstance(outcome, Exception) else (False,):
        stage_.act = awaiting(outcome, marked=marked, early=early)
        phone = AsyncPhone(ADA) if early else ada
        found = observed(phone, f"async-{early}", "/async/")
        assert found == expected, "an async handler ends otherwise than a sync one"


KINDS: dict[str, Callable[[], Any]] = {
    "JsonResponse": lambda: JsonResponse({"b": 1, "a": "1.10"}),
    "HttpResponse": lambda: HttpResponse(b"\x00\xff\xfe%PDF", content_type="application/pdf"),
    "FileResponse": lambda: FileResponse([b"one", b"two"], as_attachment=True, filename="x.bin"),
    "stream": lambda: StreamingHttpResponse([b"one", b"two"]),
    "empty": lambda: HttpResponse(status=204),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("late", [False, True], ids=["returned", "settled with"])
def test_every_kind_of_answer_of_an_awaited_handler_replays(
    ada: Phone, stage_: Stage, key: str, kind: str, late: bool
) -> None:
    async def act(request: Any) -> Any:
        return request.idempotency.settle_with(KINDS[kind]) if late else KINDS[kind]()

    stage_.act = act
    first, again = ada.send(key, path="/async/"), ada.send(key, path="/async/")
    assert again.status_code == first.status_code
    if kind == "stream":
        assert body(first) == b"onetwo"
        assert again.headers["Idempotent-Body-Omitted"] == "true"
    else:
        assert body(again) == body(first)
    assert (again.headers.get(MARKER), stage_.calls) == ("true", 1)


def test_a_lost_answer_is_asked_about_by_an_async_hook(
    phone: Phone, stage_: Stage, key: str
) -> None:
    async def loses(request: Any) -> Any:
        await request.idempotency.asending()
        desk.order(request.idempotency.reference)
        raise TimeoutError

    async def asks(record: Any) -> object:
        await asyncio.sleep(0)
        return desk.asks(record)

    stage_.act, stage_.recover = loses, asks
    for path in ("/async/", "/async-class/"):
        assert phone.send(key + path, path=path).status_code == 202
        desk.run_out()
        found = phone.send(key + path, path=path)
        assert (found.status_code, found.headers[MARKER]) == (201, "true")
    assert phone.send("swept", path="/async-class/").status_code == 202
    desk.run_out()
    assert sweeps.recover_due() == 1, "the sweep did not ask about what an async handler lost"
    assert phone.send("swept", path="/async-class/").headers[MARKER] == "true"
    assert (stage_.calls, effects()) == (3, 0)


def test_a_safe_method_ignores_the_key(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = lambda request: JsonResponse({"read": True})
    assert ada.send(key, path="/async-class/", method="get").json() == {"read": True}
    assert rows() == []


def test_an_async_handler_leaves_no_transaction_open(
    ada: Phone, stage_: Stage, key: str, caplog: Any
) -> None:
    def in_a_thread(request: Any) -> Any:
        with request.idempotency.settling():
            effect(request)
            return HttpResponse()

    stage_.act = sync_to_async(in_a_thread)
    assert ada.send(key, path="/async/").status_code == 500
    assert "An async handler returns settle_with(write)" in caplog.text
    assert (not connection.in_atomic_block, effects(), rows()) == (True, 0, [])


def test_rest_framework_awaits_no_handler_and_says_so(
    ada: Phone, stage_: Stage, key: str, caplog: Any
) -> None:
    assert ada.send(key, path="/async-rest/").status_code == 500
    assert "REST framework awaits no handler" in caplog.text
    assert (stage_.calls, rows()) == (0, [])
