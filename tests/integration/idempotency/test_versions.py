"""The fingerprint has a version: a release with a new one still knows what the old one put on record."""

from hashlib import sha256
from typing import Any

import pytest
from django.db import connection
from rest_framework.response import Response

from idempotency import AlreadyApplied, Answer, fingerprint
from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, succeeds

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"
QUERY = "/required/?trace=1"  # what version 2 leaves out, and version 1 does not


def second(request: fingerprint.Request) -> str:
    """A later version that forgets the query."""
    body = request.body if isinstance(request.body, bytes) else repr(request.body).encode()
    return f"2:{sha256(request.method.encode() + request.path.encode() + body).hexdigest()[:62]}"


@pytest.fixture
def release_2(monkeypatch: Any) -> Any:
    """From the call on, this process is of the next release."""

    def upgrade() -> None:
        monkeypatch.setitem(fingerprint.VERSIONS, 2, second)
        monkeypatch.setattr(fingerprint, "VERSION", 2)

    return upgrade


def versions() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT hash_version FROM idempotency_keys ORDER BY created_at")
        return [version for (version,) in cursor.fetchall()]


@pytest.mark.parametrize("cache", ["default", None])
def test_a_key_of_the_last_release_replays_for_its_request_and_for_no_other(
    ada: Phone, stage_: Stage, settings: Any, cache: str | None, release_2: Any
) -> None:
    settings.IDEMPOTENCY = {"CACHE": None}
    stage_.act = succeeds
    first = ada.send("old")
    release_2()
    settings.IDEMPOTENCY = {"CACHE": cache}
    for _ in "ab":  # from PostgreSQL, then from the cache, which must judge alike
        again = ada.send("old")
        assert (again.status_code, again.content) == (201, first.content), "an upgrade lost the key"
        assert again.headers[MARKER] == "true"
        assert ada.send("old", {"amount": 2}).status_code == 422
        assert ada.send("old", path=QUERY).status_code == 422, "judged by a later version's rules"
    assert [ada.send("new", path=path).status_code for path in ("/required/", QUERY)] == [201, 201]
    assert (effects(), versions()) == (2, [1, 2])


def test_the_lease_of_the_last_release_is_taken_over_by_its_request_only(
    ada: Phone, stage_: Stage, release_2: Any
) -> None:
    desk.books.clear()
    stage_.act, stage_.recover = desk.orders_then(TimeoutError()), desk.asks
    assert ada.send("lost", path="/leased/").status_code == 202
    release_2()
    desk.run_out()
    assert ada.send("lost", {"amount": 2}, path="/leased/").status_code == 422
    found = [ada.send("lost", path="/leased/") for _ in "ab"]
    assert [a.status_code for a in found] == [201, 201], "nobody could take the old lease over"
    assert [a.headers.get(MARKER) for a in found] == ["true", "true"]
    assert ada.send("lost", {"amount": 2}, path="/leased/").status_code == 422
    assert (stage_.asked, versions()) == (1, [1])


@pytest.mark.parametrize("path", ["/required/", "/leased/"])
def test_a_key_of_a_later_release_is_neither_replayed_nor_run_nor_refused(
    ada: Phone, stage_: Stage, monkeypatch: Any, release_2: Any, path: str
) -> None:
    stage_.act = lambda request: Response({"n": effect(request)}, status=201)
    with monkeypatch.context():
        release_2()
        assert ada.send("later", path=path).status_code == 201
    monkeypatch.undo()  # the request meets a process that is not upgraded yet
    for body in (None, {"amount": 2}):
        told = ada.send("later", body, path=path)
        assert (told.status_code, told.json()["retry"]) == (503, "same_key"), told.content
        assert told.headers["Retry-After"]
    assert (stage_.calls, effects()) == (1, 1)


@pytest.mark.parametrize("path", ["/required/", "/leased/"])
def test_a_reference_of_the_last_release_answers_for_its_request_and_for_no_other(
    ada: Phone, stage_: Stage, release_2: Any, path: str
) -> None:
    kept: list[str] = []
    answer = Answer(201, (("Content-Type", "text/plain"),), b"original")

    def act(request: Any) -> Any:
        kept.append(request.idempotency.fingerprint)
        raise AlreadyApplied(answer, kept[0])

    stage_.act = act
    assert ada.send("first", path=path).content == b"original"
    release_2()
    assert ada.send("long-after", path=path).content == b"original", "paid again after an upgrade"
    assert ada.send("other", {"amount": 2}, path=path).status_code == 422
