"""The filter saves the database a round trip for a duplicate, and decides nothing."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from django.core.cache import caches
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from fulfilment import store, tasks
from fulfilment.models import ProviderEvent
from fulfilment.webhooks import inbox, seen
from idempotency import timeline
from tests.integration.webhooks.support import deliver, event, signed, stored

pytestmark = pytest.mark.django_db


def key_of(body: bytes) -> str:
    name = json.loads(body)["id"]
    return f"idem:{timeline.current()}:memory:acct_sandbox:test:{name}"


def database_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(**_: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(store, "insert_event", gone)


def test_after_the_commit_the_filter_holds_the_digest_for_a_day() -> None:
    body = event()
    assert caches["default"].get(key_of(body)) is None
    deliver(body)
    assert caches["default"].get(key_of(body)) == stored(body).digest
    assert 86_390 < caches["default"].ttl(key_of(body)) <= 86_400


def test_a_duplicate_is_answered_without_the_database() -> None:
    body = event()
    deliver(body)
    with CaptureQueriesContext(connection) as asked:
        answer = deliver(body)
    assert (answer.status_code, answer.content) == (200, b"")
    assert [query["sql"] for query in asked] == []


def test_a_duplicate_is_answered_while_the_database_is_gone(monkeypatch) -> None:
    body = event()
    deliver(body)
    database_is_gone(monkeypatch)
    assert deliver(body).status_code == 200
    assert deliver(event()).status_code == 503


def test_a_duplicate_must_be_signed_as_well() -> None:
    body = event()
    deliver(body)
    assert deliver(body, signed(b"{}")).status_code == 401, "the filter was asked before the proof"


def test_a_hit_with_another_content_goes_to_the_database() -> None:
    body = event(id="evt_two_bodies", amount=500)
    deliver(body)
    assert deliver(event(id="evt_two_bodies", amount=501)).status_code == 200
    assert stored(body).conflicts.count() == 1
    assert caches["default"].get(key_of(body)) == stored(body).digest, "the first digest was lost"


def test_a_flushed_filter_is_filled_again_by_the_next_duplicate() -> None:
    body = event()
    deliver(body)
    caches["default"].delete(key_of(body))
    assert deliver(body).status_code == 200
    assert caches["default"].get(key_of(body)) == stored(body).digest
    assert ProviderEvent.objects.count() == 1


def test_nothing_is_remembered_of_an_event_that_was_not_committed(monkeypatch) -> None:
    body = event()
    database_is_gone(monkeypatch)
    assert deliver(body).status_code == 503
    assert caches["default"].get(key_of(body)) is None, "the sender's retry would be thrown away"
    monkeypatch.undo()
    assert deliver(body).status_code == 200
    assert stored(body)


def test_nothing_is_remembered_of_a_forged_event() -> None:
    body = event()
    deliver(body, signed(b"{}"))
    assert caches["default"].get(key_of(body)) is None, "anybody could shut an event out"


def test_after_a_promotion_the_filter_proves_nothing(monkeypatch) -> None:
    body = event()
    deliver(body)
    monkeypatch.setattr(timeline, "current", lambda: "00000099")
    place = seen.place_of(inbox.entries.entry("memory").webhooks.read(body), digest="x")
    assert place is not None
    assert "00000099" in place.name
    with CaptureQueriesContext(connection) as asked:
        deliver(body)
    assert len(asked) > 0, "a row that a promotion may have lost was taken for committed"


def test_the_same_name_at_another_account_or_mode_is_another_event() -> None:
    for given in ({}, {"account": "acct_2"}, {"livemode": True}):
        assert deliver(event(id="evt_shared", **given)).status_code == 200
    assert ProviderEvent.objects.count() == 3


@pytest.fixture(params=["refuses", "never answers", "none"])
def no_cache(request: pytest.FixtureRequest, settings: Any) -> Iterator[None]:
    """A cache that is not there, one that takes connections and says nothing, and no cache."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if request.param == "never answers":
            server.listen(1)
        if request.param == "none":
            settings.FULFILMENT["CACHE"] = None
        address = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": address}}
        yield


def test_without_the_cache_the_answers_are_the_same(no_cache) -> None:
    body, other = event(id="evt_no_cache"), event(id="evt_no_cache", amount=1)
    began = time.monotonic()
    answers = [deliver(b).status_code for b in (body, body, other, b"{", event())]
    forged = deliver(body, signed(b"{}")).status_code
    assert (answers, forged) == ([200, 200, 200, 400, 200], 401)
    assert ProviderEvent.objects.count() == 2
    assert stored(body).conflicts.count() == 1
    assert time.monotonic() - began < 2, "every delivery waited for the cache again"


def test_a_cache_that_failed_is_left_alone_for_a_while(monkeypatch) -> None:
    asked: list[str] = []

    class Dead:
        def get(self, name: str) -> Any:
            asked.append(name)
            raise ConnectionError

    monkeypatch.setattr(seen, "caches", {"default": Dead()})
    for _ in range(5):
        assert deliver(event()).status_code == 200
    assert len(asked) == 1, "every delivery waits for the dead cache again"


def test_a_deaf_cache_and_a_deaf_broker_keep_no_sender_waiting(
    settings, monkeypatch, django_capture_on_commit_callbacks
) -> None:
    """The sender would give up, and send the event again, and again."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(5)
        address = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": address}}
        settings.FULFILMENT["EVENT_HINT"] = "fulfilment.tasks.hint_event"
        connect = current_app.connection_for_write
        monkeypatch.setattr(
            current_app, "connection_for_write", lambda **kw: connect(address, **kw)
        )
        monkeypatch.setattr(tasks, "_quiet_until", 0.0)
        began = time.monotonic()
        with django_capture_on_commit_callbacks(execute=True):
            assert deliver(event()).status_code == 200
        assert time.monotonic() - began < 2
