"""Bodies that trip parsers: a sentence and a 4xx, never a 500; read by all, changed by none (C027-C040)."""

import os
import subprocess
import sys
from typing import Any

import pytest
from rest_framework.response import Response

from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows
from tests.integration.idempotency.test_bodies import JSON, MARKER, form

pytestmark = COMMITTING

FORM = "application/x-www-form-urlencoded"


def lines(*fields: bytes) -> bytes:
    return b"".join(b"--b\r\n" + field + b"\r\n" for field in fields) + b"--b--\r\n"


def field(name: str) -> bytes:
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\nx'.encode()


NO_FORMS = {
    **{
        f"charset {name}": (f"multipart/form-data; boundary=b; charset={name}", lines(field("a")))
        for name in ("base64", "idna", "undefined", "rot13")
    },
    "1001 fields": (
        "multipart/form-data; boundary=b",
        lines(*(field(f"a{n}") for n in range(1001))),
    ),
    "101 files": (
        "multipart/form-data; boundary=b",
        lines(*[field("a").replace(b'"a"', b'"a"; filename="f"')] * 101),
    ),
    "no boundary": ("multipart/form-data", lines(field("a"))),
    "not ASCII": ("multipart/form-data; boundary=b\xff", lines(field("a"))),
}


@pytest.mark.parametrize(("kind", "body"), NO_FORMS.values(), ids=NO_FORMS)
@pytest.mark.parametrize("path", ["/required/", "/plain/"])
def test_a_form_that_cannot_be_taken_apart_is_refused_and_leaves_no_key(
    ada: Phone, stage_: Stage, key: str, path: str, kind: str, body: bytes
) -> None:
    # by PUT: for a POST the test client itself encodes with the charset that is none
    refused = ada.send(key, body, content_type=kind, path=path, method="put")
    assert (refused.status_code, refused.json()["code"]) == (400, "body_invalid")
    assert (stage_.calls, rows()) == (0, [])


@pytest.mark.parametrize("length", ["x", "-", "1e3"])
def test_a_length_that_is_no_number_is_refused(
    ada: Phone, stage_: Stage, key: str, length: str
) -> None:
    from django.test import RequestFactory

    from idempotency import bodies, errors

    request = RequestFactory().post("/required/", {}, content_type=JSON)
    request.META["CONTENT_LENGTH"] = length
    with pytest.raises(errors.BodyInvalid):
        bodies.read(request)


def test_a_body_that_was_parsed_before_the_guard_is_named_and_never_taken_for_another(
    ada: Phone, stage_: Stage, key: str, caplog: Any
) -> None:
    stage_.act = lambda request: Response({"n": effect(request), "a": request.data["a"]})
    assert ada.send(key, {"a": 1}, path="/peeked/").status_code == 500
    assert "parsed the body before the guard" in caplog.text
    assert (stage_.calls, rows()) == (0, [])
    first, again = (ada.send(key, {"a": 1}, path="/peeked/?raw=1") for _ in "ab")
    assert (first.json()["a"], again.content) == (1, first.content), "the advice does not help"
    assert (again.headers[MARKER], effects()) == ("true", 1)
    assert ada.send(key, {"a": 2}, path="/peeked/?raw=1").status_code == 422


def test_an_upload_that_was_parsed_before_the_guard_is_compared(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = lambda request: Response({"file": request.data["file"].read().hex()})
    for file, code in ((b"\x00\xff", 200), (b"\x00\xff", 200), (b"\x00\xfe", 422)):
        body, kind = form("b", file)
        assert ada.send(key, body, content_type=kind, path="/peeked/").status_code == code
    assert stage_.calls == 1


@pytest.mark.parametrize("kind", [JSON, FORM, "text/plain", "multipart/form-data; boundary=b", ""])
def test_an_empty_body_is_a_body(ada: Phone, stage_: Stage, key: str, kind: str) -> None:
    stage_.act = lambda request: Response({"n": effect(request)})
    sent = [ada.send(key, b"", content_type=kind) for _ in "ab"]
    assert [a.headers.get(MARKER) for a in sent] == [None, "true"], sent[0].content
    assert ada.send(key, b"0", content_type=kind or JSON).status_code in {400, 422}
    assert effects() == 1


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    """Workers differ in their hash seed and their language (C029)."""
    code = (
        "from idempotency.fingerprint import Request, of_request\n"
        'body = r\'{"I\u0131": 1, "b": {"z": [1.10, 1e2], "\u0131": {}}, "\\u0130": "I"}\'.encode()\n'
        "print(of_request(Request('POST', '/p', 'I=i', 'Application/JSON', body)))"
    )
    said = set()
    for seed, language in [("0", "C"), ("1", "tr_TR.UTF-8"), ("2", "C.UTF-8")]:
        environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": language}
        run = [sys.executable, "-X", "utf8", "-c", code]
        said.add(subprocess.run(run, env=environment, capture_output=True, check=True).stdout)
    assert len(said) == 1, "two workers take one request for two"
