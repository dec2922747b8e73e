"""A roll-out to clients that send no keys yet: they are served and counted, the others are guarded."""

from typing import Any

import pytest
from rest_framework.response import Response

from tests.integration.idempotency import desk
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows, succeeds
from tests.integration.idempotency.test_signals import Ear, absent, ended

__all__ = ["absent", "ended"]

pytestmark = COMMITTING


@pytest.fixture(autouse=True)
def _observing(settings: Any) -> None:
    settings.IDEMPOTENCY = {"CACHE": "default", "OBSERVE": True}


def test_a_request_without_a_key_is_served_each_time_and_counted(
    ada: Phone, stage_: Stage, absent: Ear, ended: Ear
) -> None:
    stage_.act = succeeds
    assert [ada.send(None).status_code for _ in range(2)] == [201, 201]
    assert effects() == 2, "two requests without a key were taken for one"
    assert [said["refused"] for said in absent.heard] == [False, False]
    assert ended.outcomes == [("settled", 201, False)] * 2


def test_a_key_that_is_sent_is_honoured_in_full(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = succeeds
    first, again = ada.send(key), ada.send(key)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.content == first.content
    assert ada.send(key, {"amount": 2}).status_code == 422
    assert effects() == 1


def test_a_key_that_is_sent_wrong_is_still_refused(ada: Phone, stage_: Stage) -> None:
    """Its client means to be safe: served in silence, it would believe that it is."""
    assert ada.send("a,b").json()["code"] == "key_invalid"
    assert effects() == 0


def test_a_handler_finds_a_claim_as_it_will_after_the_roll_out(ada: Phone, stage_: Stage) -> None:
    seen: list[str] = []

    def act(request: Any) -> Response:
        seen.append(request.idempotency.reference)
        return Response({"n": effect(request)}, status=201)

    stage_.act = act
    assert [ada.send(None).status_code for _ in range(2)] == [201, 201]
    assert len(set(seen)) == 2, "two actions share one reference"


def test_a_leased_handler_runs_and_is_recovered_without_a_key(
    ada: Phone, stage_: Stage, settings: Any
) -> None:
    from idempotency import sweeps

    settings.IDEMPOTENCY = desk.LEASE | {"OBSERVE": True}
    stage_.act, stage_.recover = desk.orders_then(RuntimeError("lost")), desk.asks
    unknown = ada.send(None, path="/leased/")
    assert (unknown.status_code, unknown.json()["retry"]) == (202, "never"), (
        "a client without a key was told to come again, and would pay twice"
    )
    assert "Retry-After" not in unknown.headers
    desk.run_out()
    assert sweeps.recover_due() == 1
    [(made, status, code)] = rows()
    assert (made.startswith("unkeyed-"), status, code) == (True, "completed", 201)


def test_what_only_a_comparison_would_refuse_is_not_refused(ada: Phone, stage_: Stage) -> None:
    stage_.act = succeeds
    twice = '{"amount": 1, "amount": 2}'
    assert ada.send(None, twice).status_code == 201
    assert ada.send("k", twice).json()["code"] == "body_invalid"


def test_nothing_of_it_is_put_into_the_cache(ada: Phone, stage_: Stage) -> None:
    from django_redis import get_redis_connection

    stage_.act = succeeds
    ada.send(None)
    assert get_redis_connection("default").keys("*unkeyed*") == [], (
        "an answer that nobody can ask for takes room in the cache"
    )
