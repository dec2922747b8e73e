"""Every kind of answer, from every kind of view: sent once, then sent again (scenarios 28-30, 38)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import (
    FileResponse,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
    StreamingHttpResponse,
)
from django.template import engines
from django.template.response import TemplateResponse
from rest_framework.response import Response

from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects
from tests.integration.idempotency.test_async import AsyncPhone

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"
REST = ["required", "set", "function", "generic", "actions/pay", "mixed", "leased"]
PLAIN = ["plain", "class", "leased-plain", "async", "async-class"]


def template(request: Any) -> TemplateResponse:
    page = engines["django"].from_string("{{ n }} é {% for i in more %}{{ i }}{% endfor %}")
    return TemplateResponse(request, page, {"n": 1, "more": iter("ab")})  # renders once only


class Slow(HttpResponse):
    """A response of a project's own."""


KINDS: dict[str, Callable[[Any, Path], Any]] = {
    "JsonResponse": lambda _, __: JsonResponse({"b": 1, "a": "1.10", "nul": "\x00"}, status=201),
    "HttpResponse": lambda _, __: HttpResponse(b"\x00\xff%PDF", content_type="application/pdf"),
    "a subclass": lambda _, __: Slow("ok", headers={"Location": "/t/1", "ETag": '"1"'}),
    "FileResponse": lambda _, file: FileResponse(file.open("rb"), as_attachment=True),
    "TemplateResponse": lambda request, _: template(request),
    "204": lambda _, __: HttpResponse(status=204),
    "303": lambda _, __: HttpResponseRedirect("/t/1", status=303),
    "empty": lambda _, __: HttpResponse(b"", content_type="text/csv"),
    "stream": lambda _, __: StreamingHttpResponse([b"one", b"two"], headers={"Location": "/t/1"}),
}


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_of_every_kind_of_view_is_sent_again(
    ada: Phone, stage_: Stage, kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "receipt.bin"
    file.write_bytes(bytes(range(256)))

    def made(request: Any) -> Any:
        effect(request)
        return KINDS[kind](getattr(request, "_request", request), file)

    def act(request: Any) -> Any:
        if "async" in request.path:
            return request.idempotency.settle_with(lambda: made(request))
        return made(request)

    stage_.act = act
    for count, view in enumerate([*REST, *PLAIN], 1):
        first, again = ada.send(view, path=f"/{view}/"), ada.send(view, path=f"/{view}/")
        where = f"{kind} of /{view}/"
        assert again.status_code == first.status_code < 400, where
        if kind == "stream":
            assert (body(first), body(again)) == (b"onetwo", b""), where
            assert again.headers["Idempotent-Body-Omitted"] == "true", where
        else:
            assert body(again) == body(first), f"{where}: the bytes of the replay differ"
        assert (MARKER in first.headers, again.headers.get(MARKER)) == (False, "true"), where
        for name in ("Content-Type", "Location", "ETag", "Content-Disposition"):
            assert again.headers.get(name) == first.headers.get(name), f"{where}: {name}"
        assert (effects(), stage_.calls) == (count, count), f"{where}: it ran again"
        first.close()


def test_rest_framework_renders_as_the_client_accepts_once(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = lambda request: Response({"z": effect(request), "a": [1.10, None]}, status=201)
    for view in REST:
        first, again = ada.send(view, path=f"/{view}/"), ada.send(view, path=f"/{view}/")
        assert (again.status_code, again.content) == (201, first.content), view
        assert again.headers["Content-Type"] == "application/json"
    assert effects() == len(REST)


@pytest.mark.parametrize("kind", [StreamingHttpResponse, FileResponse])
def test_an_async_stream_is_delivered_whole_and_never_run_again(
    stage_: Stage, key: str, kind: Any
) -> None:
    async def pieces() -> Any:
        yield b"one"
        yield b"two"

    async def act(request: Any) -> Any:
        return kind(pieces(), status=201)

    async def read(answer: Any) -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    stage_.act = act
    phone = AsyncPhone()
    first, again = phone.send(key), phone.send(key)
    assert async_to_sync(read)(first) == b"onetwo"
    assert (again.status_code, again.content, stage_.calls) == (201, b"", 1)
    assert again.headers["Idempotent-Body-Omitted"] == "true"
