"""`POST …/webhooks/<provider>`: where a provider delivers its events."""

import logging
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError, InterfaceError, transaction
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from fulfilment.conf import conf
from fulfilment.webhooks import inbox, problems
from fulfilment.webhooks.errors import EventMalformed, EventNotPosted, EventTooLarge, IntakeRefused
from idempotency.responses import http_response

log = logging.getLogger(__name__)


@csrf_exempt  # the signature says who it is, and there is no session
@transaction.non_atomic_requests  # the answer comes after the commit, not before it
def receive(request: HttpRequest, provider: str) -> HttpResponse:
    """200 with an empty body once the event is on record; a refusal as problem+json; else 503."""
    try:
        _require_post(request)
        body = raw_body(request)
        inbox.accept(provider, headers=request.headers, raw_body=body, now=timezone.now())
    except IntakeRefused as error:
        extra = {"action": error.code, "provider": provider[:32], "detail": str(error)}
        log.warning("event refused", extra=extra)
        return http_response(problems.answer_to(error))
    except (DatabaseError, InterfaceError):
        log.exception("event not stored", extra={"action": "event_not_stored"})
        return http_response(problems.unavailable())
    # Exactly 200: to some senders any other 2xx is a failure.
    return HttpResponse(headers={"Content-Type": "text/plain"})


def _require_post(request: HttpRequest) -> None:
    if request.method != "POST":
        raise EventNotPosted("Events are taken by POST only.")


def raw_body(request: HttpRequest) -> bytes:
    """The bytes as they were signed, before anything parses them. Raises `IntakeRefused`."""
    limit = conf().max_bytes
    try:
        body = _read(request, limit)
    except RequestDataTooBig:
        body = None
    except UnreadablePostError as error:
        raise EventMalformed("The body did not arrive.") from error
    if body is None or len(body) > limit:
        raise EventTooLarge(f"At most {limit} bytes are taken.")
    return body


def _read(request: HttpRequest, limit: int) -> bytes | None:
    """The body, read no further than is needed to know that it is too large; None: it is."""
    given: str = request.META.get("CONTENT_LENGTH") or ""
    if given:
        return None if given.isdigit() and int(given) > limit else request.body
    if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        # It came without a length, so Django would take it for an empty one.
        return _chunks(request.META["wsgi.input"], limit)
    return request.body


def _chunks(stream: Any, limit: int) -> bytes:
    try:
        chunks: bytes = stream.read(limit + 1)
    except Exception as error:  # each server has its own exceptions for a chunk that is none
        raise EventMalformed("The body did not arrive.") from error
    return chunks
