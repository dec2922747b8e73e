"""Guarded views that are awaited, and a server that awaits them as ASGI servers do."""

import asyncio
import inspect
import json
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views import View
from rest_framework.views import APIView

from idempotency import Record, idempotent
from tests.integration.idempotency.stage import stage
from tests.integration.idempotency.views import Principal, Staged


async def play(request: Any) -> HttpResponseBase:
    """What the test put on the stage, awaited if it is to be."""
    played: Any = stage.play(request)
    return await played if inspect.isawaitable(played) else played


async def ask(record: Record) -> object:
    found = stage.ask(record)
    return await found if inspect.isawaitable(found) else found


def leaving(request: HttpRequest) -> UUID:
    """Whose key it is, found out so slowly that the client hangs up meanwhile."""
    leave[0]()
    time.sleep(0.1)
    return request.user.pk  # type: ignore[return-value]


leave: list[Callable[[], Any]] = []


def signed_in(view: Callable[..., Any]) -> Callable[..., Any]:
    async def checked(request: HttpRequest, *arguments: Any, **keywords: Any) -> Any:
        name = request.headers.get("X-User")
        if name:
            request.user = Principal(UUID(name))  # type: ignore[assignment]
        return await view(request, *arguments, **keywords)

    checked._non_atomic_requests = view._non_atomic_requests  # type: ignore[attr-defined]
    return checked


@signed_in
@idempotent(mode="leased", operation="stage.async", recover=ask)
async def awaited(request: HttpRequest) -> HttpResponseBase:
    return await play(request)


class Awaited(View):
    def setup(self, request: HttpRequest, *arguments: Any, **keywords: Any) -> None:
        super().setup(request, *arguments, **keywords)
        request.user = Principal(UUID(request.headers["X-User"]))  # type: ignore[assignment]

    @idempotent(mode="leased", operation="stage.async_class", recover="ask")
    async def post(self, request: HttpRequest) -> HttpResponseBase:
        return await play(request)

    @idempotent(mode="leased", operation="stage.async_get", recover="ask")
    async def get(self, request: HttpRequest) -> HttpResponseBase:
        return await play(request)

    async def ask(self, record: Record) -> object:
        return await ask(record)


class Rest(Staged, APIView):
    @idempotent(mode="leased", operation="stage.async_rest", recover=ask)
    async def post(self, request: Any) -> HttpResponseBase:
        return await play(request)


class Connection:
    """One client's connection to an ASGI server: what it sends, what it gets, when it hangs up."""

    def __init__(self, key: str, body: Any, *, path: str, user: UUID, **headers: str) -> None:
        named = {"idempotency-key": key, "x-user": str(user), "content-type": "application/json"}
        self.scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(n.encode(), v.encode()) for n, v in {**named, **headers}.items()],
        }
        self.pieces = [body] if isinstance(body, bytes) else [json.dumps(body).encode()]
        self.gone = asyncio.Event()
        self.said: list[dict[str, Any]] = []

    async def answer(self) -> tuple[int, bytes]:
        """The status and the body; (0, b"") for a client that did not wait."""
        await ASGIHandler()(self.scope, self._receive, self._send)
        start = [m for m in self.said if m["type"] == "http.response.start"]
        body = b"".join(m.get("body", b"") for m in self.said)
        return (start[0]["status"], body) if start else (0, b"")

    async def _receive(self) -> dict[str, Any]:
        if self.pieces:
            piece = self.pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(self.pieces)}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.said.append(message)
