"""Every error of the API as `application/problem+json` (RFC 9457) that a client can act on.

The contract's own problems live in `idempotency.problems`, the bank's in `ledgerline.bank.errors`.
"""

import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler

from idempotency import Refusal, Transient, problem
from idempotency.problems import ProblemKind, register
from idempotency.responses import http_response

log = logging.getLogger(__name__)

register(
    ProblemKind(
        code="invalid",
        title="The request does not fit",
        status=400,
        retry="never",
        safe_new_key=True,
        meaning="A field is missing, unknown or of the wrong kind. Nothing was done and nothing was stored.",
        what_to_do="Correct the fields named in `errors` and send again; the same key may be used.",
    ),
    ProblemKind(
        code="unauthenticated",
        title="No valid credentials",
        status=401,
        retry="same_key",
        safe_new_key=False,
        meaning="The bearer token is missing, expired or not ours. The key was not touched.",
        what_to_do="Get a new token and send the same request with the same key.",
    ),
    ProblemKind(
        code="forbidden",
        title="Not allowed",
        status=403,
        retry="never",
        safe_new_key=False,
        meaning="These credentials may not do this. The key was not touched.",
        what_to_do="Ask for the permission; repeating the request does not help.",
    ),
    ProblemKind(
        code="not_found",
        title="Not found",
        status=404,
        retry="never",
        safe_new_key=True,
        meaning="There is nothing at this address that you may see.",
        what_to_do="Check the address. A transfer is visible to the user who made it only.",
    ),
    ProblemKind(
        code="method_not_allowed",
        title="Method not allowed",
        status=405,
        retry="never",
        safe_new_key=True,
        meaning="This address does not know this method.",
        what_to_do="Use one of the methods in the `Allow` header.",
    ),
    ProblemKind(
        code="not_acceptable",
        title="Not acceptable",
        status=406,
        retry="never",
        safe_new_key=True,
        meaning="The API answers JSON only.",
        what_to_do="Send `Accept: application/json`, or no Accept header.",
    ),
    ProblemKind(
        code="unsupported_media_type",
        title="Unsupported media type",
        status=415,
        retry="never",
        safe_new_key=True,
        meaning="The API reads JSON in UTF-8 only.",
        what_to_do="Send `Content-Type: application/json` and a body in UTF-8.",
    ),
    ProblemKind(
        code="throttled",
        title="Too many requests",
        status=429,
        retry="after",
        safe_new_key=False,
        meaning="You sent more requests than you may. The key was not touched.",
        what_to_do="Wait as long as `Retry-After` says, then send the same request with the same key.",
    ),
    ProblemKind(
        code="internal_error",
        title="An error of ours",
        status=500,
        retry="same_key",
        safe_new_key=False,
        meaning="The request hit a bug. What it had begun was rolled back.",
        what_to_do="Send the same request with the same key; never a new key for the same intent.",
    ),
)

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
    if isinstance(error, (Refusal, Transient)):
        return http_response(error.answer())
    if isinstance(error, (OperationalError, InterfaceError)):
        return _unavailable(error)
    plain = drf_exception_handler(error, context)
    code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
    if plain is None or code is None:
        return plain
    return http_response(
        problem(code, detail=_detail(error), headers=_kept(plain), **_members(error))
    )


def _unavailable(error: Exception) -> HttpResponse:
    """A lock that is not free, a database that is not there: nothing happened, try again."""
    log.warning("database does not answer", extra={"action": "unavailable"}, exc_info=error)
    return http_response(Transient().answer())


def _detail(error: Exception) -> str | None:
    if isinstance(error, exceptions.ValidationError) or not isinstance(
        error, exceptions.APIException
    ):
        return None
    return str(error.detail)


def _members(error: Exception) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        return {"errors": error.detail}
    return {}


def _kept(plain: Response) -> tuple[tuple[str, str], ...]:
    """What DRF worked out for us: Allow, WWW-Authenticate, Retry-After."""
    names = ("Allow", "WWW-Authenticate", "Retry-After")
    return tuple((name, plain[name]) for name in names if plain.has_header(name))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django refused the request before any view (a bad host, a suspicious path)."""
    if _is_api(request):
        return http_response(problem("invalid", detail="The request is malformed."))
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
    """A bug. Never a bare 500: the client learns that the same key is safe."""
    if _is_api(request):
        return http_response(problem("internal_error"))
    return defaults.server_error(request)


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/v1/")
