"""The web server's worker: it answers what is no proper request in the words of the API.

Loaded before the workers are forked, so nothing of the service is imported at the top.
"""

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from gunicorn.http.errors import (
    ExpectationFailed,
    InvalidHeader,
    InvalidHeaderName,
    InvalidHTTPVersion,
    InvalidRequestLine,
    InvalidRequestMethod,
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    InvalidSchemeHeaders,
    LimitRequestHeaders,
    LimitRequestLine,
    ObsoleteFolding,
    UnsupportedTransferCoding,
)
from gunicorn.workers.gthread import ThreadWorker

if TYPE_CHECKING:
    from idempotency import Answer

_THEIRS = (
    ExpectationFailed,
    InvalidHeader,
    InvalidHeaderName,
    InvalidHTTPVersion,
    InvalidRequestLine,
    InvalidRequestMethod,
    InvalidSchemeHeaders,
    LimitRequestHeaders,
    LimitRequestLine,
    ObsoleteFolding,
    UnsupportedTransferCoding,
)
_OURS = (InvalidResponseHeader, InvalidResponseHeaderName)


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn publishes no types
    """gunicorn's threads, with problems (RFC 9457) instead of its page where the head is at fault."""

    def handle_error(self, request: Any, client: Any, address: Any, error: Exception) -> None:
        """Called by gunicorn for a request that no application has seen, and for bugs."""
        if not isinstance(error, _THEIRS) or isinstance(error, _OURS):
            super().handle_error(request, client, address, error)
            return
        self.log.warning("Refused a request: %s", type(error).__name__)  # its text may be a key
        try:
            client.sendall(_message(_answer(error)))
        except OSError:
            self.log.debug("The client has gone.")


def _answer(error: Exception) -> "Answer":
    from idempotency import problem
    from idempotency.errors import KeyInvalid

    if isinstance(error, LimitRequestHeaders):
        return problem("headers_too_large")
    if isinstance(error, LimitRequestLine):
        return problem("address_too_long")
    name = str(getattr(error, "hdr", "")).upper()
    if name == "IDEMPOTENCY_KEY":
        return KeyInvalid("The header is Idempotency-Key, and not Idempotency_Key.").answer()
    if name == "IDEMPOTENCY-KEY" and isinstance(error, ObsoleteFolding):
        return KeyInvalid("The Idempotency-Key stands on one line.").answer()
    if name == "IDEMPOTENCY-KEY":
        return KeyInvalid("The Idempotency-Key may hold visible ASCII characters only.").answer()
    return problem("malformed_request")


def _message(answer: "Answer") -> bytes:
    status = HTTPStatus(answer.status)
    headers = [*answer.headers, ("Content-Length", str(len(answer.body))), ("Connection", "close")]
    lines = [f"HTTP/1.1 {status} {status.phrase}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + answer.body
