"""The body of a request, taken once and before any parser, for the fingerprint."""

from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import (
    ImproperlyConfigured,
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.core.files.uploadhandler import load_handler
from django.http import HttpRequest, RawPostDataException, UnreadablePostError
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from idempotency import conf
from idempotency.errors import BodyInvalid, BodyTooLarge
from idempotency.fingerprint import Part

_CUT = "The body did not arrive whole."

_PARSED = (
    "Something parsed the body before the guard could compare it: a middleware, a permission or a "
    "throttle that reads request.data. Let it read the raw body first (request.body, inside REST "
    "framework request._request.body), which keeps it for everybody."
)

# What Django's parser raises for bytes that are no form, for too much of them, and for a charset
# that is none of text.
_NOT_APART = (
    MultiPartParserError,
    TooManyFilesSent,
    TooManyFieldsSent,
    UnicodeError,
    LookupError,
)


def read(request: HttpRequest) -> bytes | list[Part]:
    """The raw body, or the parts of a multipart one; whatever parses later finds it untouched.

    Raises BodyTooLarge above MAX_REQUEST_BYTES, BodyInvalid for a body that was cut off on its way or
    for a broken multipart body, and ImproperlyConfigured for one that was parsed already.
    """
    limit = conf.current().max_request_bytes
    _bound(_length(request), limit)
    _take_chunks(request, limit)
    multipart = (request.content_type or "").startswith("multipart/")
    try:
        return _parts(request, limit) if multipart else _whole(request, limit)
    except _NOT_APART as error:
        raise BodyInvalid("The multipart body cannot be taken apart.") from error
    except RequestDataTooBig as error:
        raise BodyTooLarge from error


def _bound(length: int, limit: int) -> None:
    if length > limit:
        raise BodyTooLarge(f"At most {limit} bytes are accepted with an Idempotency-Key.")


def _length(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        raise BodyInvalid("The length of the body is not a number.") from None


def _take_chunks(request: Any, limit: int) -> None:
    """Read a body that came without a length; Django would take it for an empty one."""
    stream = request.META.get("wsgi.input")
    chunked = "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
    if not chunked or request.META.get("CONTENT_LENGTH") or stream is None:
        return
    try:
        body = stream.read(limit + 1)
    except Exception as error:  # each server has its own exceptions for a chunk that is none
        raise BodyInvalid(_CUT) from error
    _bound(len(body), limit)
    request._body = body  # noqa: SLF001  where Django itself keeps a body that was read
    request._read_started = True  # noqa: SLF001


def _whole(request: HttpRequest, limit: int) -> bytes:
    """The body if it is as long as it was said to be: half an order must not pass for an order."""
    try:
        body = request.body
    except UnreadablePostError as error:
        raise BodyInvalid(_CUT) from error
    except RawPostDataException as error:
        if request.content_type == "multipart/form-data":
            raise  # _parts() has it
        raise ImproperlyConfigured(_PARSED) from error
    if len(body) < _length(request):  # the client has closed its side, and servers tell nobody
        raise BodyInvalid(_CUT)
    _bound(len(body), limit)  # HTTP/2, and chunks under ASGI, come without a length
    if body and not _length(request):
        request.META["CONTENT_LENGTH"] = str(len(body))  # no parser takes a body without it
    return body


def _parts(request: HttpRequest, limit: int) -> list[Part]:
    try:
        fields, files = _parsed(request, _whole(request, limit))
    except RawPostDataException:  # the CSRF check has parsed the form already
        fields, files = request.POST, request.FILES
    parts = [Part(name, _bytes(value)) for name, values in fields.lists() for value in values]
    for name, uploads in files.lists():
        for upload in uploads:
            parts.append(Part(name, upload.read(), upload.name or "", upload.content_type or ""))
            upload.seek(0)
    return parts


def _parsed(request: HttpRequest, body: bytes) -> tuple[Any, Any]:
    handlers = [load_handler(path, request) for path in settings.FILE_UPLOAD_HANDLERS]
    return MultiPartParser(request.META, BytesIO(body), handlers, request.encoding).parse()


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
