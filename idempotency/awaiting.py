"""The same flow for a handler that is awaited: everything but the handler runs in a thread.

While it is awaited no thread waits for it and no transaction is open. What it still has to do after
its last `await` runs as a handler of leased mode does, so that both have the same exits.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NoReturn, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.http.response import HttpResponseBase

from idempotency import errors, serving
from idempotency.calls import Call
from idempotency.claims import Claim
from idempotency.leased_claims import LeasedClaim
from idempotency.serving import Begun, Guard

P = ParamSpec("P")
T = TypeVar("T")


async def serve(call: Call, guard: Guard) -> HttpResponseBase:
    """Read key → fingerprint → cached answer? → claim → await the handler → settle.

    A client that goes away cancels the handler. Then the key is released before the mark and held
    after it, as after every other end that says nothing, and CancelledError is raised on.
    """
    if call.http.method in serving.SAFE:
        read: HttpResponseBase = await call.handler()
        return read
    begun, gone = await _whole(serving.begin, call, guard)
    if isinstance(begun, Begun):
        call.handler = _left if gone else await _awaited(call, begun.claim)
        response, left = await _whole(serving.end, call, guard, begun)
        gone = gone or left or call.handler is _left
    else:
        response = begun
    if gone:
        raise asyncio.CancelledError
    return response


async def _whole(step: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> tuple[T, bool]:
    """The step's result, and whether the client went away meanwhile: what commits is not left halfway."""
    running = asyncio.ensure_future(sync_to_async(step)(*arguments, **keywords))
    gone = False
    while not running.done():
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            gone = True
    return running.result(), gone


async def _awaited(call: Call, claim: Claim | None) -> Callable[[], HttpResponseBase]:
    """What is left to do of the handler once nothing more is awaited: to answer, or to raise."""
    call.bind(claim)
    if isinstance(claim, LeasedClaim):
        claim.awaited = True
    try:
        response: HttpResponseBase = await call.handler()
    except asyncio.CancelledError:
        return _left
    except Exception as error:  # noqa: BLE001  raised again where the exits are decided
        return partial(_raised, error)
    return lambda: response


def _left() -> NoReturn:
    raise errors.Unavailable("the client went away before the handler had ended")


def _raised(error: Exception) -> NoReturn:
    raise error
