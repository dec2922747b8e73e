"""Answers and HTTP responses: the one way from either to the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from idempotency import conf
from idempotency.contract import OMITTED, REPLAYED, Answer

_NEVER = frozenset(
    {"set-cookie", "set-cookie2"}
)  # a cookie is one browser's, whatever HEADERS says
# Of REST framework's and of template responses: what a project's own tests and middleware read.
_SHOWN = frozenset({"data", "context_data", "template_name"})
_EXPOSED = f"{REPLAYED}, {OMITTED}, Location, Retry-After"


class AnswerResponse(HttpResponse):
    """An answer on its way out. `after_sent` runs when the server has handed over the last byte.

    A header that the answer has several times is sent several times, in its order: Django keeps one
    value for a name, so `headers` shows the lines joined by commas, which says the same (RFC 9110,
    5.3), and `items()`, which servers read, has them apart. Middleware that changes the value turns
    it into the one line that it set. Between different names no order is kept or needed.
    """

    after_sent: Callable[[], None] | None = None
    lines: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # of names in small letters

    def items(self) -> Iterable[tuple[str, str]]:
        """The header lines as they are sent, but for cookies."""
        for name, value in self.headers.items():
            lines = self.lines.get(name.lower(), ())
            for line in lines if value == ", ".join(lines) else (value,):
                yield name, line

    def close(self) -> None:
        """Called by the server once the client has the answer; nobody waits for this any more."""
        after, self.after_sent = self.after_sent, None
        if after is not None:
            after()
        super().close()


@dataclass(frozen=True, slots=True)
class Captured:
    """What a handler answered: the part to store, and what the first client gets."""

    answer: Answer
    response: HttpResponseBase


def capture(response: HttpResponseBase) -> Captured:
    """Take the storable answer out of a rendered response.

    A file is read; another stream, or a body above MAX_RESPONSE_BYTES, goes to the first client
    whole and is stored as its status, its headers and the marker of an omitted body.

    Stored are the headers that HEADERS allows, repeated ones where the response's `items()` repeats
    them (a plain HttpResponse cannot). What middleware adds after the view is each answer's own.
    """
    if not isinstance(response, AnswerResponse):  # a handler's own, not an earlier answer of ours
        _refuse_markers(response)
    body = _content(response, conf.current().max_response_bytes)
    answer = Answer(response.status_code, _kept(response, omitted=body is None), body or b"")
    if body is None:
        return Captured(answer, response)
    first = respond(answer)
    _add_own(first, response)
    return Captured(answer, first)


def respond(answer: Answer, *, replayed: bool = False) -> AnswerResponse:
    """The response for an answer: the same bytes and headers for the first client and every later one."""
    response = AnswerResponse(answer.body, status=answer.status)
    del response.headers["Content-Type"]  # Django's default; the answer has its own or none
    _write(response, answer.headers)
    if replayed:
        response.headers[REPLAYED] = "true"
    return response


http_response = respond  # the name that reads better where an exception becomes a response


def expose(response: HttpResponseBase, request: HttpRequest) -> None:
    """Let a browser's script on another origin read the headers of the contract (CORS)."""
    if "Origin" in request.headers:
        given = response.headers.get("Access-Control-Expose-Headers")
        response.headers["Access-Control-Expose-Headers"] = (
            f"{given}, {_EXPOSED}" if given else _EXPOSED
        )


def _content(response: HttpResponseBase, limit: int) -> bytes | None:
    if isinstance(response, HttpResponse):
        return response.content if len(response.content) <= limit else None
    if isinstance(response, FileResponse) and not response.is_async:
        return _file(response, limit)
    return None


def _file(response: FileResponse, limit: int) -> bytes | None:
    stream: Iterator[bytes] = iter(response)
    read: list[bytes] = []
    while sum(map(len, read)) <= limit:
        piece = next(stream, None)
        if piece is None:
            return b"".join(read)
        read.append(piece)
    _restore(response, chain(read, stream))
    return None


def _restore(response: StreamingHttpResponse, stream: Iterator[bytes]) -> None:
    response.streaming_content = stream


def _kept(response: HttpResponseBase, *, omitted: bool) -> tuple[tuple[str, str], ...]:
    allowed = {name.lower() for name in conf.current().headers} - _NEVER
    allowed -= {"content-encoding"} if omitted else set()  # no body, nothing encoded
    kept = tuple(pair for pair in response.items() if pair[0].lower() in allowed)
    return (*kept, (OMITTED, "true")) if omitted else kept


def _add_own(first: AnswerResponse, response: HttpResponseBase) -> None:
    """Give the first client what is its own: cookies, and headers that are not stored."""
    stored = {name.lower() for name in first.headers} | {"content-length"}
    _write(first, [pair for pair in response.items() if pair[0].lower() not in stored])
    first.cookies = response.cookies
    for name in _SHOWN & vars(response).keys():
        setattr(first, name, getattr(response, name))
    # its files close with the first answer; closing it here would end the request inside the claim
    first._resource_closers.extend(response._resource_closers)  # type: ignore[attr-defined]  # noqa: SLF001


def _write(response: AnswerResponse, pairs: Iterable[tuple[str, str]]) -> None:
    lines: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        lines[name.lower()] = (*lines.get(name.lower(), ()), value)
        response.headers[name] = ", ".join(lines[name.lower()])
    response.lines = {**response.lines, **lines}


def _refuse_markers(response: HttpResponseBase) -> None:
    """Only a replay says that it is one, whatever answer of somebody else a handler passed on."""
    for name in (REPLAYED, OMITTED):
        if name in response.headers:
            del response.headers[name]
