"""What the web server says to a request that no application sees: in the words of the API."""

import json
import logging
from typing import Any

import pytest
from gunicorn.http import errors

from idempotency.problems import registered
from ledgerline.web import Worker


class Wire:
    """The client's end of the connection."""

    def __init__(self) -> None:
        self.received = b""

    def sendall(self, sent: bytes) -> None:
        self.received += sent


def answer_to(error: Exception) -> tuple[int, dict[str, Any]]:
    worker, wire = Worker.__new__(Worker), Wire()
    worker.log = logging.getLogger("test")
    worker.handle_error(None, wire, ("127.0.0.1", 1), error)
    head, _, body = wire.received.partition(b"\r\n\r\n")
    assert b"Content-Type: application/problem+json" in head, (
        "an API's client is sent a page of HTML"
    )
    assert f"Content-Length: {len(body)}".encode() in head
    return int(head.split(b" ", 2)[1]), json.loads(body)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.InvalidHeader("X-ODD"), 400, "malformed_request"),
        (errors.InvalidHeader("IDEMPOTENCY-KEY"), 400, "key_invalid"),
        (errors.InvalidHeaderName("IDEMPOTENCY_KEY"), 400, "key_invalid"),
        (errors.ObsoleteFolding("X-ODD"), 400, "malformed_request"),
        (errors.ObsoleteFolding("IDEMPOTENCY-KEY"), 400, "key_invalid"),
        (errors.InvalidRequestLine("POST v1 HTTP/1.1"), 400, "malformed_request"),
        (errors.InvalidRequestMethod("p@st"), 400, "malformed_request"),
        (errors.InvalidHTTPVersion((2, 0)), 400, "malformed_request"),
        (errors.InvalidSchemeHeaders(), 400, "malformed_request"),
        (errors.UnsupportedTransferCoding("xchunked"), 400, "malformed_request"),
        (errors.ExpectationFailed("foo"), 400, "malformed_request"),
        (errors.LimitRequestLine(5028, 4094), 414, "address_too_long"),
        (errors.LimitRequestHeaders("limit"), 431, "headers_too_large"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_request_that_is_none_is_told_as_a_problem(
    error: Exception, status: int, code: str
) -> None:
    given, said = answer_to(error)
    assert (given, said["status"], said["code"]) == (status, status, code)
    assert (said["retry"], said["safe_new_key"]) == ("never", False)
    assert code in registered(), "it has no page"
