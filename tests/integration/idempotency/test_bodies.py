"""Bodies of every kind, taken before any parser (scenarios 31-33; cases C027-C040)."""

import json
from io import BytesIO
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from rest_framework.response import Response

from tests.integration.idempotency import views
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"
JSON = "application/json"


def keeps(request: Any) -> Response:
    return Response({"n": effect(request), "data": str(request.data)})


def form(boundary: str, file: bytes) -> tuple[bytes, str]:
    lines = [
        f"--{boundary}",
        'Content-Disposition: form-data; name="note"',
        "",
        "hello",
        f"--{boundary}",
        'Content-Disposition: form-data; name="file"; filename="a.bin"',
        "Content-Type: application/octet-stream",
        "",
    ]
    end = f"\r\n--{boundary}--\r\n".encode()
    return "\r\n".join(
        lines
    ).encode() + b"\r\n" + file + end, f"multipart/form-data; boundary={boundary}"


@pytest.mark.parametrize("method", ["post", "put"])
def test_a_multipart_retry_with_a_new_boundary_replays_and_one_byte_more_does_not(
    ada: Phone, stage_: Stage, key: str, method: str
) -> None:
    def act(request: Any) -> Response:
        effect(request)
        return Response({"note": request.data["note"], "file": request.data["file"].read().hex()})

    stage_.act = act
    body, kind = form("one", b"\x00\r\n\xff")
    first = ada.send(key, body, content_type=kind, method=method)
    assert first.json() == {"note": "hello", "file": "000d0aff"}, "the handler lost the upload"
    body, kind = form("two", b"\x00\r\n\xff")
    assert ada.send(key, body, content_type=kind, method=method).content == first.content
    body, kind = form("two", b"\x00\r\n\xfe")
    assert ada.send(key, body, content_type=kind, method=method).status_code == 422
    assert effects() == 1


def test_a_form_that_was_parsed_before_the_guard_is_fingerprinted_too(stage_: Stage) -> None:
    def act(request: Any) -> HttpResponse:
        effect(request)
        return HttpResponse(request.POST["note"].encode() + request.FILES["file"].read())

    stage_.act = act

    def sent(file: bytes) -> Any:
        body, kind = form("b", file)
        request = RequestFactory().generic(
            "POST",
            "/plain/",
            body,
            content_type=kind,
            headers={"Idempotency-Key": "k", "X-User": str(ADA)},
        )
        assert request.POST["note"] == "hello"  # as the CSRF check does
        return views.plain(request)

    assert sent(b"1").content == sent(b"1").content == b"hello1", "the handler lost the upload"
    assert sent(b"2").status_code == 422
    assert effects() == 1


@pytest.mark.parametrize("kind", [JSON, "application/x-www-form-urlencoded", "text/plain"])
def test_one_changed_byte_is_another_request(
    ada: Phone, stage_: Stage, key: str, kind: str
) -> None:
    stage_.act = lambda request: Response({"n": effect(request)})
    body = b'["' + b"a" * 100_000 + b'"]'
    assert ada.send(key, body, content_type=kind).status_code == 200
    assert MARKER in ada.send(key, body, content_type=kind).headers
    assert ada.send(key, body[:-3] + b'b"]', content_type=kind).status_code == 422


def test_json_is_compared_as_a_value(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = keeps
    first = ada.send(key, b'{"amount": 10, "name": "\xc3\xa9"}', content_type=JSON)
    again = ada.send(key, b'{\n"name":"\\u00e9" ,"amount":10}', content_type=JSON)
    assert (again.content, again.headers.get(MARKER)) == (first.content, "true")
    assert (
        ada.send(key, b'{"amount": 10.0, "name": "\xc3\xa9"}', content_type=JSON).status_code == 422
    )


EDGES = {
    "10^5 levels": b"[" * 100_000,
    "65 levels": b"[" * 65 + b"]" * 65,
    "a duplicate name": b'{"amount": 1, "amount": 2}',
    "NaN": b'{"amount": NaN}',
    "a byte order mark": b'\xef\xbb\xbf{"amount": 1}',
    "latin-1": b'{"name": "\xe9"}',
    "UTF-16": '{"amount": 1}'.encode("utf-16"),
    "no JSON": b'{"amount": ',
}


@pytest.mark.parametrize("body", EDGES.values(), ids=EDGES)
def test_json_without_one_meaning_is_refused_and_leaves_no_key(
    ada: Phone, stage_: Stage, key: str, body: bytes
) -> None:
    stage_.act = keeps
    refused = ada.send(key, body, content_type=JSON)
    assert (refused.status_code, refused.json()["code"]) == (400, "body_invalid")
    assert (stage_.calls, rows()) == (0, [])
    assert ada.send(key).status_code == 200


@pytest.mark.parametrize("body", [b'"\\ud83d"', b"9" * 5000, b"0.1", b"1e400", b'"a\\u0000"'])
def test_odd_json_passes_the_contract_and_replays(
    ada: Phone, stage_: Stage, key: str, body: bytes
) -> None:
    stage_.act = lambda request: Response({"n": effect(request)})
    first, again = (ada.send(key, body, content_type=JSON) for _ in "ab")
    assert (first.status_code, again.content) == (200, first.content)


def test_a_request_above_the_cap_is_refused(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"MAX_REQUEST_BYTES": 100}
    stage_.act = keeps
    refused = ada.send(key, {"narration": "x" * 100})
    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
    assert (stage_.calls, rows()) == (0, [])


def chunked(body: bytes, key: str, *, wire: Any = None) -> Any:
    """As gunicorn hands over a chunked body: no length, and an input that ends by itself."""
    request = RequestFactory().generic(
        "POST",
        "/required/",
        body,
        content_type=JSON,
        headers={"Idempotency-Key": key, "X-User": str(ADA), "Transfer-Encoding": "chunked"},
    )
    request.META.pop("CONTENT_LENGTH", None)
    request.META["wsgi.input"] = wire or BytesIO(body)
    return views.Required.as_view()(request)


def test_a_chunked_body_is_read_and_never_taken_for_an_empty_one(
    stage_: Stage, key: str, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"MAX_REQUEST_BYTES": 100}
    stage_.act = keeps
    first, again = chunked(b'{"amount": 1}', key), chunked(b'{"amount": 1}', key)
    assert b"amount" in first.content, "the handler saw an empty body"
    assert again.content == first.content
    assert chunked(b'{"amount": 2}', key).status_code == 422
    assert chunked(b'{"amount": 1}' + b" " * 100, key).status_code == 413


class Torn:
    """A server's input that fails in the server's own way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def read(self, *size: int) -> bytes:
        raise self.error


@pytest.mark.parametrize("error", [ConnectionResetError(), ValueError("no chunk size")], ids=repr)
def test_a_chunked_body_that_breaks_is_refused_and_stores_nothing(
    stage_: Stage, key: str, error: Exception
) -> None:
    stage_.act = keeps
    refused = chunked(b"", key, wire=Torn(error))
    assert (refused.status_code, json.loads(refused.content)["code"]) == (400, "body_invalid")
    assert (stage_.calls, rows()) == (0, [])


@pytest.mark.parametrize("kind", [JSON, "text/plain", "multipart/form-data; boundary=b"])
def test_a_body_shorter_than_its_length_is_refused_and_stores_nothing(
    stage_: Stage, key: str, kind: str
) -> None:
    stage_.act = keeps
    body = form("b", b"1")[0] if kind.startswith("multipart") else b"{}"
    request = RequestFactory().generic(
        "POST",
        "/required/",
        body,
        content_type=kind,
        headers={"Idempotency-Key": key, "X-User": str(ADA)},
    )
    request.META["CONTENT_LENGTH"] = str(len(body) + 1)
    refused = views.Required.as_view()(request)
    assert (refused.status_code, json.loads(refused.content)["code"]) == (400, "body_invalid")
    assert (stage_.calls, rows()) == (0, [])
