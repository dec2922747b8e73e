"""HTTP for connectors: one call, one fresh connection, one deadline for all of it.

The classes follow what was measured: behind the same exception stand opposite truths, and only
the connect family proves that nothing left us. Everything after that is unknown.
"""

import asyncio
import json
import ssl
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

import httpx2

from fulfilment.connectors.base import NotSent, Unknown

MAX_BODY = 1 << 20  # one MiB: no provider's answer about one payment comes near it

# Raised before the first byte of the request. A TLS handshake that fails is a ConnectError.
_NEVER_LEFT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.LocalProtocolError,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whole. Header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON, or None where it is not JSON in UTF-8."""
        try:
            return json.loads(self.body.decode("utf-8"))
        except (ValueError, RecursionError):
            return None


def call(
    method: str,
    url: str,
    *,
    deadline: timedelta,
    headers: Mapping[str, str] | None = None,
    json_body: Any = None,
    content: bytes | None = None,
    max_body: int = MAX_BODY,
) -> Reply | NotSent | Unknown:
    """Make one call and say what is known of it. Never raises for what the network does.

    What cannot be put on the wire at all (half a surrogate pair in `json_body`, a header that is
    not ASCII) was not sent.

    `deadline` bounds the whole call on the monotonic clock, from the look-up of the name to the
    last byte (a client's read time-out starts again with every byte). No redirect is followed, no
    proxy is taken from the environment, and no connection is shared: a reset of a stale pooled
    connection would be unknown too.
    """
    sent_headers = {"accept-encoding": "identity", **(headers or {})}
    if json_body is not None:
        text = json.dumps(json_body, separators=(",", ":"), ensure_ascii=False)
        try:
            content = text.encode()
        except UnicodeEncodeError as error:
            return _unwritable(error)
        sent_headers["content-type"] = "application/json"
    return _run(
        _call(method, url, deadline=deadline, headers=sent_headers, content=content, most=max_body)
    )


async def _call(
    method: str,
    url: str,
    *,
    deadline: timedelta,
    headers: Mapping[str, str],
    content: bytes | None,
    most: int,
) -> Reply | NotSent | Unknown:
    whole = deadline.total_seconds()
    try:
        async with asyncio.timeout(whole), _client(whole) as client:
            try:
                request = client.build_request(method, url, headers=headers, content=content)
            except UnicodeEncodeError as error:
                return _unwritable(error)
            return await _read(await client.send(request, stream=True), most=most)
    except _NEVER_LEFT as error:
        return NotSent(reason=_told(error))
    except TimeoutError:
        return Unknown(reason=f"no whole answer within {whole:g} s")
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        return Unknown(reason=_told(error))


def _client(whole: float) -> httpx2.AsyncClient:
    """Connecting gets half of the time: it must fail as itself, for that is proof."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(whole, connect=whole / 2),
        follow_redirects=False,
        trust_env=False,
        verify=_trust(),
    )


async def _read(response: httpx2.Response, *, most: int) -> Reply | Unknown:
    """The body as it came, undecoded: a small compressed body may unfold to gigabytes."""
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > most:
            return Unknown(reason=f"HTTP {response.status_code} with a body above {most} bytes")
    return Reply(response.status_code, dict(response.headers), bytes(body))


def _run(work: "Coroutine[Any, Any, Reply | NotSent | Unknown]") -> Reply | NotSent | Unknown:
    """Run `work` in a loop of its own.

    Not `asyncio.run`: on its way out that waits for the threads that resolve names, so a hanging
    name server would outlast the deadline.
    """
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@cache
def _trust() -> ssl.SSLContext:
    """Read the certificates once a process: it costs more than the call."""
    return ssl.create_default_context()


def _unwritable(error: UnicodeEncodeError) -> NotSent:
    """Without the error's own words: they quote what could not be written."""
    return NotSent(reason=f"the request cannot be written as {error.encoding}")


def _told(error: Exception) -> str:
    """The kind of error and the library's words, cut short; without them where they may quote us.

    A `LocalProtocolError` quotes the header that it refuses: our secret.
    """
    if isinstance(error, httpx2.LocalProtocolError):
        return f"{type(error).__name__}: the request is not valid HTTP"
    return f"{type(error).__name__}: {error}"[:200].removesuffix(": ")  # some say nothing
