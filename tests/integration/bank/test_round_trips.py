"""How often a request waits for PostgreSQL and for Redis, counted on the wire (C012, C024).

A batch of statements, or a call of a database function, is one trip; BEGIN and COMMIT count.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.cache import caches
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection

from idempotency import timeline
from ledgerline import tokens
from ledgerline.bank.models import Account
from tests.integration.bank.conftest import customer
from tests.integration.bank.phone import B0
from tests.wire import Wire, counted

pytestmark = pytest.mark.django_db(
    transaction=True, available_apps=["idempotency", "fulfilment", "ledgerline.bank"]
)


TOO_MUCH = B0 | {"amount": 10_000_000}


@dataclass(frozen=True)
class Answered:
    """What the phone gets."""

    status: int
    content: bytes
    marker: str | None


@dataclass
class Counted:
    """A warm web process whose servers stand behind counting proxies."""

    database: Wire
    redis: Wire
    account: Account
    handler: WSGIHandler

    def trips(self) -> tuple[int, int]:
        """Of the last request: to PostgreSQL, to Redis."""
        return self.database.trips, self.redis.trips

    def told(self) -> str:
        """What each trip of the last request carried."""
        lines = [f"{n}. {sent!r}" for n, sent in enumerate(self.database.sent, start=1)]
        return "\n".join(["the trips to PostgreSQL were", *lines, f"to Redis {self.redis.sent}"])

    def pay(self, body: dict[str, Any], *, key: str) -> Answered:
        """One request as the web server passes it on, from the first byte to `close()`."""
        self.database.forget()
        self.redis.forget()
        content = json.dumps(body).encode()
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": "/v1/transfers",
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(content)),
            "HTTP_AUTHORIZATION": f"Bearer {tokens.issue(self.account.owner)}",
            "HTTP_IDEMPOTENCY_KEY": key,
            "wsgi.input": io.BytesIO(content),
            "wsgi.url_scheme": "http",
        }
        started: list[Any] = []
        response = self.handler(environ, lambda *given: started.extend(given))
        answer = b"".join(response)
        response.close()
        marker = dict(started[1]).get("Idempotent-Replayed")
        return Answered(int(started[0].split()[0]), answer, marker)


@pytest.fixture
def web(settings: Any) -> Iterator[Counted]:
    at = connection.settings_dict
    redis = urlsplit(settings.REDIS_URL)
    with (
        counted(at["HOST"], int(at["PORT"])) as database,
        counted(redis.hostname, redis.port) as cache,
    ):
        ada = customer("ada", number="0123456780", funds=100_000)
        customer("bola", number="0123456789")
        settings.CACHES = {
            "default": settings.CACHES["default"]
            | {"LOCATION": settings.REDIS_URL.replace(f":{redis.port}", f":{cache.port}")}
        }
        connection.close()
        there, at["PORT"] = at["PORT"], str(database.port)
        try:
            process = Counted(database, cache, ada, WSGIHandler())
            process.pay(B0, key="warm-up")
            yield process
        finally:
            at["PORT"] = there
            connection.close()
            caches["default"].close()


def test_a_first_transfer_waits_for_postgresql_four_times_at_most(web: Counted) -> None:
    """The look at the key; BEGIN, claim, savepoint; the transfer; its release, answer and COMMIT."""
    assert web.pay(B0, key="k").status == 201
    assert web.trips()[0] <= 4, web.told()


def test_a_refusal_waits_no_longer_than_a_transfer(web: Counted) -> None:
    assert web.pay(TOO_MUCH, key="k").status == 400
    assert web.trips()[0] <= 4, web.told()


def test_a_replay_from_redis_does_not_ask_postgresql(web: Counted) -> None:
    first = web.pay(B0, key="k")
    again = web.pay(B0, key="k")
    assert (again.status, again.content, again.marker) == (201, first.content, "true")
    assert web.trips() == (0, 1), web.told()


def test_another_request_under_a_cached_key_does_not_ask_postgresql(web: Counted) -> None:
    web.pay(B0, key="k")
    assert web.pay(B0 | {"amount": 1}, key="k").status == 422
    assert web.trips() == (0, 1), web.told()


@pytest.mark.parametrize("without", ["an entry", "a cache", "a timeline"])
def test_a_replay_without_redis_asks_postgresql_once(
    web: Counted, settings: Any, without: str
) -> None:
    first = web.pay(B0, key="k")
    if without == "an entry":
        caches["default"].clear()
    elif without == "a cache":
        settings.IDEMPOTENCY = settings.IDEMPOTENCY | {"CACHE": None}
    else:
        timeline._known.clear()
    again = web.pay(B0, key="k")
    assert (again.status, again.content, again.marker) == (201, first.content, "true")
    assert web.trips()[0] == 1, web.told()
    assert web.pay(B0 | {"amount": 1}, key="k").status == 422
    assert web.trips()[0] <= 1, web.told()


def test_a_stored_refusal_is_replayed_by_one_look_at_postgresql(web: Counted) -> None:
    """It invites a new key, so it is not cached: a correction of it would be hidden."""
    assert web.pay(TOO_MUCH, key="r").status == 400
    again = web.pay(TOO_MUCH, key="r")
    assert (again.status, again.marker) == (400, "true")
    assert web.trips() == (1, 1), web.told()


def test_an_answer_is_cached_by_one_call_after_it_was_sent(web: Counted) -> None:
    web.pay(B0, key="k")
    assert web.trips()[1] == 2, web.told()


def test_input_that_is_refused_is_undone_in_few_trips(web: Counted) -> None:
    """Look, begin, is it made already? undo for the answer's own queries, roll back."""
    assert web.pay(B0 | {"amount": "10"}, key="k").status == 400
    assert web.trips()[0] <= 5, web.told()


def test_an_open_order_is_told_of_in_two_trips(web: Counted) -> None:
    external = B0 | {"toBank": "058"}
    assert (web.pay(external, key="k").status, web.pay(external, key="k").status) == (202, 409)
    assert web.trips()[0] <= 2, web.told()
