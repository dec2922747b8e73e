"""Handlers that are awaited: the same exits as the others have, under WSGI and under ASGI (38)."""

import asyncio
from collections.abc import Callable, Iterator
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
from tests.integration.idempotency import async_views, desk
from tests.integration.idempotency.async_views import Connection
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


@pytest.fixture
def no_old_connections(monkeypatch: Any) -> None:
    """A thread's connection ends with its request."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)


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


@pytest.fixture
def asgi(no_old_connections: None) -> Iterator[Callable[..., Any]]:
    """Run a scene of clients of an ASGI server, each with a connection of its own."""

    def scene(play: Callable[[], Any]) -> Any:
        return asyncio.run(asyncio.wait_for(play(), timeout=20))

    yield scene
    connection.close()


def test_a_client_that_leaves_before_the_mark_frees_its_key_and_after_it_holds_it(
    stage_: Stage, asgi: Callable[..., Any], ada: Phone
) -> None:
    async def scene(key: str, *, marked: bool) -> tuple[int, bytes]:
        async def act(request: Any) -> Any:
            if marked:
                await request.idempotency.asending()
            client.gone.set()
            await asyncio.Event().wait()

        stage_.act = act
        client = Connection(key, B0, path="/async/", user=ADA)
        return await client.answer()

    assert asgi(lambda: scene("left-early", marked=False)) == (0, b"")
    assert rows() == [], "a request that nobody waits for keeps its key before it sent anything"
    assert asgi(lambda: scene("left-late", marked=True)) == (0, b"")
    now = desk.standing()
    assert (now["held"], now["sent"]) == (True, True), "a call whose end nobody saw is not held"
    assert "went away" in now["hold_reason"]
    assert ada.send("left-late", path="/async/").status_code == 202


def test_a_client_that_leaves_while_its_key_is_claimed_frees_it(
    stage_: Stage, asgi: Callable[..., Any], settings: Any
) -> None:
    settings.IDEMPOTENCY = {"SCOPE": "tests.integration.idempotency.async_views.leaving"}

    async def scene() -> tuple[int, bytes]:
        client = Connection("hung-up", B0, path="/async/", user=ADA)
        loop = asyncio.get_running_loop()
        async_views.leave[:] = [lambda: loop.call_soon_threadsafe(client.gone.set)]
        return await client.answer()

    assert asgi(scene) == (0, b"")
    assert (stage_.calls, rows()) == (0, []), "the key of a client that hung up stays leased"


def test_a_client_that_leaves_while_its_answer_is_stored_finds_it(
    stage_: Stage, asgi: Callable[..., Any], ada: Phone
) -> None:
    async def scene() -> tuple[int, bytes]:
        loop = asyncio.get_running_loop()

        def write() -> Any:
            loop.call_soon_threadsafe(client.gone.set)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.2)")  # the cancellation arrives meanwhile
            return JsonResponse({"n": effect(stage_.requests[0])}, status=201)

        async def act(request: Any) -> Any:
            await request.idempotency.asending()
            return request.idempotency.settle_with(write)

        stage_.act = act
        client = Connection("stored", B0, path="/async/", user=ADA)
        return await client.answer()

    assert asgi(scene) == (0, b"")
    assert rows() == [("stored", "completed", 201)], "half of a settlement was left behind"
    assert ada.send("stored", path="/async/").headers[MARKER] == "true"
    assert effects() == 1


def test_of_many_at_once_one_runs_while_it_is_awaited(
    stage_: Stage, asgi: Callable[..., Any]
) -> None:
    async def scene() -> list[tuple[int, bytes]]:
        done = asyncio.Event()

        async def act(request: Any) -> Any:
            await request.idempotency.asending()
            await done.wait()
            return await orders(request)

        stage_.act = act
        sent = [Connection("one", B0, path="/async/", user=ADA).answer() for _ in range(8)]
        tasks = [asyncio.ensure_future(one) for one in sent]
        first = asyncio.ensure_future(
            asyncio.wait(tasks, timeout=10, return_when="FIRST_COMPLETED")
        )
        await first
        while sum(task.done() for task in tasks) < len(tasks) - 1:
            await asyncio.sleep(0.01)
        done.set()
        return await asyncio.gather(*tasks)

    answers = asgi(scene)
    codes = sorted(status for status, _ in answers)
    assert codes == [201] + [409] * 7, f"not exactly one of eight ran: {codes}"
    assert (effects(), stage_.calls, list(desk.books.values())) == (1, 1, [1])


@pytest.mark.parametrize("length", ["chunked", None])
def test_a_body_without_a_length_is_read_and_bounded(
    stage_: Stage, asgi: Callable[..., Any], settings: Any, length: str | None
) -> None:
    settings.IDEMPOTENCY = {"MAX_REQUEST_BYTES": 100, "CACHE": None}
    headers = {"transfer-encoding": length} if length else {}
    seen: list[bytes] = []

    async def act(request: Any) -> Any:
        seen.append(request.body)
        return HttpResponse(b"ok")

    def sent(content: bytes) -> int:
        client = Connection("long", content, path="/async/", user=ADA, **headers)
        return asgi(client.answer)[0]

    stage_.act = act
    assert sent(b'{"amount": 1}') == sent(b'{"amount": 1}') == 200
    assert seen == [b'{"amount": 1}']
    assert sent(b'{"amount": 2}') == 422, "the body was taken for an empty one"
    assert sent(b'{"amount": 1}' + b" " * 100) == 413, "a body without a length has no bound"
