"""Headers of an answer: repeated ones stay repeated and in order, cookies and markers are not kept."""

import json
from collections.abc import Iterable
from io import BytesIO
from typing import Any

import pytest
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from idempotency import Answer, Done, contract
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage
from tests.integration.idempotency.test_takeover import died, send

pytestmark = COMMITTING

LINKS = ['</t/1>; rel="self"', '</t/2>; rel="next"', '</t/1>; rel="self"']


class Repeating(HttpResponse):
    """How a project sends a header several times: servers read `items()`."""

    def items(self) -> Iterable[tuple[str, str]]:
        own = [("X-Trace", "a"), ("X-Trace", "b")]
        return [*self.headers.items(), *(("Link", link) for link in LINKS), *own]


def lines(phone: Phone, key: str) -> list[tuple[str, str]]:
    """The header lines that a server is given, by WSGI."""
    body = b"{}"
    environ = {
        "REQUEST_METHOD": "POST", "PATH_INFO": "/plain/", "SERVER_NAME": "testserver",
        "SERVER_PORT": "80", "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body), "wsgi.url_scheme": "http", "HTTP_IDEMPOTENCY_KEY": key,
        "HTTP_X_USER": str(phone.user), "HTTP_HOST": "testserver",
    }  # fmt: skip
    sent: list[tuple[str, str]] = []
    answer: Any = get_wsgi_application()(
        environ, lambda status, headers, exc_info=None: sent.extend(headers)
    )
    b"".join(answer)
    answer.close()
    return sent


def test_a_header_sent_several_times_is_replayed_so(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = lambda request: Repeating(b"{}", content_type="application/json")
    first, again = lines(ada, key), lines(ada, key)
    for sent in (first, again):
        assert [value for name, value in sent if name == "Link"] == LINKS, sent
    assert [value for name, value in first if name == "X-Trace"] == ["a", "b"]
    assert [value for name, value in again if name == "X-Trace"] == [], "not in HEADERS, and kept"
    assert ("Idempotent-Replayed", "true") in again
    assert stage_.calls == 1


def test_an_answer_that_was_found_out_keeps_its_lines(ada: Phone, stage_: Stage, key: str) -> None:
    pairs = tuple(("Link", link) for link in LINKS)
    desk.books.clear()
    died(ada, stage_, key, marked=True)
    desk.run_out()
    stage_.recover = lambda record: Done(Answer(201, pairs, b""))
    for _ in range(2):
        answer = send(ada, key)
        assert [value for name, value in answer.items() if name == "Link"] == LINKS
        assert answer.headers["Link"] == ", ".join(LINKS), "middleware sees one of the lines only"
    with connection.cursor() as cursor:
        cursor.execute("SELECT response_headers FROM idempotency_keys")
        assert [tuple(pair) for pair in json.loads(cursor.fetchone()[0])] == list(pairs)


class VaryMiddleware:
    """As Django's own: it adds to the one value that it finds."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        response = self.get_response(request)
        patch_vary_headers(response, ("Cookie",))
        response.headers["Link"] = "</from-middleware>"
        return response


def test_what_middleware_sets_after_the_view_is_sent_and_not_stored(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    settings.MIDDLEWARE = [f"{__name__}.VaryMiddleware"]

    def act(request: Any) -> Any:
        made = Repeating(b"{}")
        made["Vary"] = "Accept"
        return made

    stage_.act = act
    for sent in (lines(ada, key), lines(ada, key)):
        assert [value for name, value in sent if name == "Vary"] == ["Accept, Cookie"]
        assert [value for name, value in sent if name == "Link"] == ["</from-middleware>"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT response_headers FROM idempotency_keys")
        stored = dict(json.loads(cursor.fetchone()[0]))
    assert stored["Vary"] == "Accept", "what is not the handler's was stored"


def test_a_cookie_is_never_stored_whatever_the_settings_allow(
    ada: Phone, stage_: Stage, key: str, settings: Any
) -> None:
    settings.IDEMPOTENCY = {"HEADERS": ("Set-Cookie", "Location")}

    def act(request: Any) -> Any:
        made = HttpResponse(b"{}", headers={"Set-Cookie": "a=secret", "Location": "/t/1"})
        made.set_cookie("session", "secret")
        return made

    stage_.act = act
    first, again = lines(ada, key), lines(ada, key)
    assert [name for name, _ in first].count("Set-Cookie") == 2
    assert "secret" not in str(again), "a cookie was stored and sent to whoever retried"
    assert ("Location", "/t/1") in again


@pytest.mark.parametrize("large", [False, True], ids=["kept", "too large to keep"])
def test_only_a_replay_says_that_it_is_one(
    ada: Phone, stage_: Stage, key: str, settings: Any, large: bool
) -> None:
    """A handler that passes on somebody else's replay does not make its own answer one (C045)."""
    settings.IDEMPOTENCY = {"MAX_RESPONSE_BYTES": 100, "HEADERS": (contract.REPLAYED, "Location")}
    theirs = {contract.REPLAYED: "true", contract.OMITTED: "true"}
    stage_.act = lambda request: HttpResponse(b"x" * (200 if large else 20), headers=theirs)
    first, again = dict(lines(ada, key)), dict(lines(ada, key))
    assert (contract.REPLAYED in first, contract.OMITTED in first) == (False, False)
    assert again[contract.REPLAYED] == "true"
    assert (contract.OMITTED in again) == large
