"""Every error of the API as `application/problem+json` (RFC 9457) that a client can act on.

The contract's own problems live in `idempotency.problems`, the bank's in `ledgerline.bank.errors`.
"""

import logging
import sys
from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template import loader
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler

from idempotency import problem
from idempotency.errors import Stated, Unavailable
from idempotency.problems import ProblemKind, register
from idempotency.responses import http_response

log = logging.getLogger(__name__)

register(
    ProblemKind(
        code="invalid",
        title="The request does not fit",
        status=400,
        retry="never",
        meaning=(
            "A field is missing, unknown or of the wrong kind. Nothing was stored. Where the answer says "
            "`safe_new_key: true`, the key was looked up and nothing was done under it."
        ),
        what_to_do="Correct the fields named in `errors` and send the request again with the same key.",
    ),
    ProblemKind(
        code="malformed_request",
        title="This is not a proper HTTP request",
        status=400,
        retry="never",
        meaning=(
            "The request line cannot be read, or a header's name or value is not allowed, contradicts "
            "another or asks for what there is not. The request was not read any further and no key was "
            "looked up: an earlier request with it may have been applied."
        ),
        what_to_do="Send the request again with proper headers and, if it is a retry, with the same key.",
    ),
    ProblemKind(
        code="address_too_long",
        title="The address is too long",
        status=414,
        retry="never",
        meaning=(
            "The path and the query are longer than any that this service has. No key was looked up: an "
            "earlier request may have been applied."
        ),
        what_to_do="Send a shorter address; what is to be done stands in the body.",
    ),
    ProblemKind(
        code="headers_too_large",
        title="The headers are too large",
        status=431,
        retry="never",
        meaning=(
            "A header, or all of them together, are longer than any that this service needs. No key was "
            "looked up: an earlier request may have been applied."
        ),
        what_to_do="Send shorter headers; a key has at most 255 characters.",
    ),
    ProblemKind(
        code="forbidden",
        title="Not allowed",
        status=403,
        retry="never",
        meaning="These credentials may not do this. The key was not touched.",
        what_to_do="Ask for the permission; repeating the request does not help.",
    ),
    ProblemKind(
        code="not_found",
        title="Not found",
        status=404,
        retry="never",
        meaning="There is nothing at this address that you may see. No key was looked up.",
        what_to_do=(
            "Check the address, and send a retry to the address of its first try, with the same key. A "
            "transfer is visible to the user who made it only."
        ),
    ),
    ProblemKind(
        code="method_not_allowed",
        title="Method not allowed",
        status=405,
        retry="never",
        meaning="This address does not know this method. No key was looked up.",
        what_to_do="Use one of the methods in the `Allow` header; a retry uses that of its first try.",
    ),
    ProblemKind(
        code="not_acceptable",
        title="Not acceptable",
        status=406,
        retry="never",
        meaning="The API answers JSON only. No key was looked up.",
        what_to_do=(
            "Send `Accept: application/json`, or no Accept header, and the rest of the request as it was, "
            "with the same key."
        ),
    ),
    ProblemKind(
        code="unsupported_media_type",
        title="Unsupported media type",
        status=415,
        retry="never",
        meaning="The API reads JSON in UTF-8 only. Nothing was done and nothing was stored.",
        what_to_do="Send `Content-Type: application/json` and a body in UTF-8, with the same key.",
    ),
    ProblemKind(
        code="throttled",
        title="Too many requests",
        status=429,
        retry="after",
        meaning="You sent more requests than you may. The key was not touched.",
        what_to_do="Wait as long as `Retry-After` says, then send the same request with the same key.",
    ),
    ProblemKind(
        code="internal_error",
        title="An error of ours",
        status=500,
        retry="same_key",
        meaning="The request hit a bug. What it had begun was rolled back.",
        what_to_do="Send the same request with the same key; never a new key for the same intent.",
    ),
)

# PostgreSQL is down, restarting, locked or slower than its time-outs: not a bug, and soon over.
OUTAGE = (OperationalError, InterfaceError)

_CODES: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.ValidationError, "invalid"),
    (exceptions.ParseError, "body_invalid"),
    (exceptions.NotAuthenticated, "unauthenticated"),
    (exceptions.AuthenticationFailed, "unauthenticated"),
    (exceptions.PermissionDenied, "forbidden"),
    (PermissionDenied, "forbidden"),
    (exceptions.NotFound, "not_found"),
    (Http404, "not_found"),
    (exceptions.MethodNotAllowed, "method_not_allowed"),
    (exceptions.NotAcceptable, "not_acceptable"),
    (exceptions.UnsupportedMediaType, "unsupported_media_type"),
    (exceptions.Throttled, "throttled"),
)


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """DRF's hook: the problem for this exception, or None for what is a bug."""
    if isinstance(error, OUTAGE):
        log.warning("database does not answer", extra={"action": "unavailable"}, exc_info=True)
        return http_response(Unavailable().answer())
    if isinstance(error, Stated):
        return http_response(error.answer())
    plain = drf_exception_handler(error, context)
    code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
    if plain is None or code is None:
        return plain
    return http_response(
        problem(code, detail=_detail(error), headers=_kept(plain), **_members(error, context))
    )


def _detail(error: Exception) -> str | None:
    if isinstance(error, exceptions.ValidationError) or not isinstance(
        error, exceptions.APIException
    ):
        return None
    return str(error.detail)


def _members(error: Exception, context: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(error, exceptions.ValidationError):
        return {}
    # Refused under an owned claim: nothing was done with this key, and the claim is rolled back.
    owned = getattr(context.get("request"), "idempotency", None) is not None
    return {"errors": error.detail, "safe_new_key": owned}


def _kept(plain: Response) -> tuple[tuple[str, str], ...]:
    """What DRF worked out for us: Allow, WWW-Authenticate, Retry-After."""
    names = ("Allow", "WWW-Authenticate", "Retry-After")
    return tuple((name, plain[name]) for name in names if plain.has_header(name))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Refused before any view (a bad host, a suspicious path, a NUL): no key was looked up."""
    if _is_api(request):
        said = str(exception) if isinstance(exception, BadRequest) else "The request is malformed."
        return http_response(problem("invalid", detail=said))
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """A permission denied outside DRF."""
    if _is_api(request):
        return http_response(problem("forbidden"))
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """No such address."""
    if _is_api(request):
        return http_response(problem("not_found"))
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """A bug, or the database is away. Never a bare 500: the client learns that the same key is safe."""
    if isinstance(sys.exc_info()[1], OUTAGE):  # Django calls this while it handles the exception
        return _unavailable(request)
    if _is_api(request):
        return http_response(problem("internal_error"))
    return defaults.server_error(request)


def _unavailable(request: HttpRequest) -> HttpResponseBase:
    answer = Unavailable().answer()
    if _is_api(request):
        return http_response(answer)
    page = loader.render_to_string("503.html")  # asks the database nothing
    return HttpResponse(page, status=answer.status, headers={"Retry-After": "1"})


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/v1/")
