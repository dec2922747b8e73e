"""Many connections of an ASGI server, and clients that hang up: the key is freed, held or settled (38)."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.http import HttpResponse, JsonResponse

from tests.integration.idempotency import async_views, desk
from tests.integration.idempotency.async_views import Connection
from tests.integration.idempotency.conftest import ADA, B0, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows
from tests.integration.idempotency.test_async import MARKER, orders

pytestmark = COMMITTING


@pytest.fixture(autouse=True)
def _empty_books() -> None:
    desk.books.clear()


@pytest.fixture
def no_old_connections(monkeypatch: Any) -> None:
    """A thread's connection ends with its request."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)


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
