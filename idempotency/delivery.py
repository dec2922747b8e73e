"""What was decided, as the response that leaves."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, assert_never

from django.db import DatabaseError, InterfaceError
from django.http.response import HttpResponseBase

from idempotency import cache, errors, problems, reports, responses
from idempotency.calls import Call
from idempotency.claims import Claim
from idempotency.contract import (
    Answer,
    Decision,
    Deferred,
    Expired,
    Held,
    InProgress,
    Progress,
    Record,
    Replay,
    Reused,
)
from idempotency.endings import Ending, Provisional, RolledBack, Settled

log = logging.getLogger("idempotency")


def send(
    decided: Ending | Decision,
    *,
    call: Call,
    operation: str,
    claim: Claim | None,
    progress: str | Callable[..., Progress] | None,
    slot: cache.Slot | None = None,
) -> HttpResponseBase:
    """The response for what was decided; final answers go to the cache's `slot` once they are sent."""
    if slot is not None and claim is not None:  # the claim may speak an older version by now
        slot = replace(slot, fingerprint=claim.fingerprint)
    if isinstance(decided, Settled | Provisional | RolledBack):
        action, response = _ended(decided, slot)
    else:
        action, response = _standing(decided, call, claim, progress, slot)
    if isinstance(decided, Provisional) and claim is not None and claim.then is not None:
        response = _followed(response, claim.then)
    return _told_of(action, response, call=call, operation=operation, claim=claim)


def refuse(error: errors.Stated, *, call: Call, operation: str) -> HttpResponseBase:
    """The response to a request that makes no claim: nothing was looked up, nothing is stored."""
    response = responses.respond(error.answer())
    return _told_of(error.code, response, call=call, operation=operation, claim=None)


def _told_of(
    action: str, response: HttpResponseBase, *, call: Call, operation: str, claim: Claim | None
) -> HttpResponseBase:
    responses.expose(response, call.http)
    reports.ended(action, response, call=call, operation=operation, claim=claim)
    return response


def _ended(ending: Ending, slot: cache.Slot | None) -> tuple[str, HttpResponseBase]:
    """This request ran the handler."""
    match ending:
        case Settled(captured, replayed):
            action = "replayed" if replayed else "settled"
            return action, _kept(captured.response, captured.answer, slot)
        case Provisional(response):
            return "deferred", response
        case RolledBack(response):
            return "rolled_back", response
        case _:
            assert_never(ending)


def _followed(
    response: HttpResponseBase, then: Callable[[], HttpResponseBase | None]
) -> HttpResponseBase:
    """What the handler wanted after the commit. Whatever goes wrong there, its 202 is true."""
    try:
        return then() or response
    except Exception:
        log.exception("nothing came after the commit", extra={"action": "then_failed"})
        return response


def _standing(
    decision: Decision,
    call: Call,
    claim: Claim | None,
    progress: str | Callable[..., Progress] | None,
    slot: cache.Slot | None,
) -> tuple[str, HttpResponseBase]:
    """Another request stands in the way, or has the answer already."""
    match decision:
        case Replay(answer, age):
            response = responses.respond(answer, replayed=True)
            return "replayed", _kept(response, answer, slot, age=age)
        case Reused():
            return "key_reused", responses.respond(problems.problem("key_reused"))
        case InProgress(seconds):
            return "in_progress", _later("in_progress", Progress(retry_after=seconds))
        case Deferred(record):
            return "in_progress", _later("in_progress", _told(call, progress, record))
        case Expired():
            return "in_progress", _later("in_progress", Progress())
        case Held(_, seconds):
            return "held", _unknown(claim, seconds)
        case _:
            assert_never(decision)


def _kept(
    response: HttpResponseBase,
    answer: Answer,
    slot: cache.Slot | None,
    *,
    age: timedelta = timedelta(0),
) -> HttpResponseBase:
    if slot is not None and isinstance(response, responses.AnswerResponse):
        response.after_sent = lambda: slot.put(answer, age=age)
    return response


def _later(code: str, progress: Progress) -> HttpResponseBase:
    headers = {**progress.headers, "Retry-After": str(max(1, progress.retry_after))}
    return responses.respond(problems.problem(code, headers=headers.items(), **progress.members))


def _unknown(claim: Claim | None, retry_after: int) -> HttpResponseBase:
    if claim is not None and claim.observed:  # it has no key to ask with, and must not try without
        return responses.respond(problems.problem("outcome_unknown", retry="never", detail=_NO_KEY))
    return _later("outcome_unknown", Progress(retry_after=retry_after))


_NO_KEY = (
    "It is being found out. Do not send the request again: it had no Idempotency-Key, so it would "
    "be a second action."
)


def _told(call: Call, progress: str | Callable[..., Progress] | None, record: Record) -> Progress:
    """The view's own description of the open operation; a name is looked up on the view."""
    if progress is None:
        return Progress()
    tell: Any = getattr(call.view, progress) if isinstance(progress, str) else progress
    try:
        told: Progress = tell(call.request, record)
    except (DatabaseError, InterfaceError):  # that the operation is open is known without it
        log.warning("progress not told", extra={"action": "progress_missed"}, exc_info=True)
        return Progress()
    return told
