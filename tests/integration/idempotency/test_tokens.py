"""Single-use tokens: one key and its retries, whatever Redis forgets."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import JsonResponse

from idempotency import (
    NothingHappened,
    Refusal,
    Transient,
    timeline,
    tokens,
)
from idempotency.models import ConsumedToken
from idempotency.tokens import store as token_store
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.purse import (
    BOUND,
    MARKER,
    TWICE,
    code,
    entry,
    issued,
    paying,  # noqa: F401  a fixture
    redis,
    spending,
    with_tokens,  # noqa: F401  a fixture
)
from tests.integration.idempotency.stage import Stage, effect, effects, rows

pytestmark = COMMITTING


def test_a_retry_after_success_is_replayed_whatever_became_of_its_token(
    ada: Phone, pays: Stage, key: str
) -> None:
    token = issued()
    first = ada.send(key, **{"X-Token": token})
    assert first.status_code == 201, first.content
    redis().delete(entry(token))
    for again in ({"X-Token": token}, {"X-Token": "nonsense"}, {}):
        replay = ada.send(key, **again)
        assert (replay.content, replay.headers[MARKER]) == (first.content, "true")
    assert (effects(), pays.calls) == (1, 1)


def test_another_key_is_refused_and_told_what_to_do(ada: Phone, pays: Stage, key: str) -> None:
    token = issued()
    ada.send(key, **{"X-Token": token})
    other = ada.send("other", **{"X-Token": token})
    assert code(other) == (409, "token_used")
    assert other.json()["safe_new_key"] is False, "the first key may have been applied"
    assert "the key of its first try" in other.json()["detail"]
    assert (effects(), len(rows())) == (1, 1), TWICE


@pytest.mark.parametrize("path", ["/required/", "/plain/", "/leased/"])
def test_a_refused_token_stores_nothing_and_the_same_key_comes_again_with_a_better_one(
    ada: Phone, pays: Stage, key: str, path: str
) -> None:
    assert code(ada.send(key, path=path, **{"X-Token": "nonsense"})) == (400, "token_unknown")
    assert rows() == [], "an answer was stored that a better token could not change any more"
    assert ada.send(key, path=path, **{"X-Token": issued()}).status_code == 201
    assert effects() == 1


def test_a_rollback_leaves_the_token_to_its_key_and_to_no_other(
    ada: Phone, pays: Stage, key: str
) -> None:
    token = issued()
    pays.act = spending(then=Transient())
    assert ada.send(key, **{"X-Token": token}).status_code == 503
    assert (effects(), ConsumedToken.objects.count()) == (0, 0)
    pays.act = spending()
    assert code(ada.send("other", **{"X-Token": token})) == (409, "token_used")
    assert ada.send(key, **{"X-Token": token}).status_code == 201, "a rollback ate the token"
    assert effects() == 1


def test_a_refusal_is_stored_and_its_key_keeps_the_token(ada: Phone, pays: Stage, key: str) -> None:
    token = issued()
    pays.act = spending(then=Refusal("No money."))
    assert ada.send(key, **{"X-Token": token}).status_code == 400
    pays.act = spending()
    assert ada.send(key, **{"X-Token": token}).headers[MARKER] == "true"
    assert code(ada.send("other", **{"X-Token": token})) == (409, "token_used")


def test_a_leased_handler_spends_before_its_call_and_again_after_a_release(
    ada: Phone, pays: Stage, key: str
) -> None:
    token = issued()
    pays.act = spending(then=NothingHappened())
    assert ada.send(key, path="/leased/", **{"X-Token": token}).status_code == 503
    pays.act = spending()
    assert ada.send(key, path="/leased/", **{"X-Token": token}).status_code == 201
    assert code(ada.send("other", path="/leased/", **{"X-Token": token})) == (409, "token_used")


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"amount": 10_001}, ["amount"]),
        ({"amount": "10000"}, ["amount"]),
        ({"payee": "0123456780", "bank": "058"}, ["bank", "payee"]),
        ({"currency": "NGN"}, ["currency"]),
    ],
)
def test_what_was_not_confirmed_is_refused_by_name_and_leaves_the_token_unused(
    ada: Phone, pays: Stage, key: str, changed: Any, differs: list[str]
) -> None:
    token = issued()
    pays.act = spending(bound=BOUND | changed)
    refused = ada.send(key, **{"X-Token": token})
    assert code(refused) == (400, "token_mismatch")
    assert refused.json()["differs"] == differs
    pays.act = spending()
    assert ada.send("other", **{"X-Token": token}).status_code == 201, "a mismatch used it up"


def test_less_than_what_was_confirmed_is_a_mismatch_too(ada: Phone, pays: Stage, key: str) -> None:
    pays.act = spending(bound={"amount": 10_000})
    refused = ada.send(key, **{"X-Token": issued()})
    assert (code(refused), refused.json()["differs"]) == (
        (400, "token_mismatch"),
        ["bank", "payee"],
    )


@pytest.mark.parametrize(
    "token",
    [
        "",
        "once_",
        "once_" + "A" * 43,
        "once_" + "A" * 43 + "\u00e9",
        "once_" + "A" * 42 + ",",
        "x" * 5000,
    ],
)
def test_a_forged_token_is_unknown(ada: Phone, pays: Stage, key: str, token: str) -> None:
    assert code(ada.send(key, **{"X-Token": token})) == (400, "token_unknown")
    assert effects() == 0


def test_a_strangers_token_is_unknown_and_stays_good_for_its_owner(
    ada: Phone, bola: Phone, pays: Stage, key: str
) -> None:
    token = issued(ADA)
    assert code(bola.send(key, **{"X-Token": token})) == (400, "token_unknown")
    pays.act = spending(purpose="payee")
    assert code(ada.send(key, **{"X-Token": token})) == (400, "token_unknown"), "another purpose"
    pays.act = spending()
    assert ada.send(key, **{"X-Token": token}).status_code == 201


def test_an_expired_token_is_said_to_be_expired_unless_its_key_had_used_it_in_time(
    ada: Phone, pays: Stage, key: str
) -> None:
    late, used = issued(lifetime=timedelta(0)), issued()
    pays.act = spending(then=Transient())
    ada.send(key, **{"X-Token": used})
    redis().hset(entry(used), "expires", "1")
    pays.act = spending()
    assert code(ada.send("late", **{"X-Token": late})) == (400, "token_expired")
    assert ada.send(key, **{"X-Token": used}).status_code == 201


def test_a_promotion_voids_tokens(ada: Phone, pays: Stage, key: str) -> None:
    token = issued()
    redis().rename(entry(token), entry(token).replace(timeline.current(), "000000FF"))
    assert code(ada.send(key, **{"X-Token": token})) == (400, "token_unknown")


def test_a_snapshot_of_redis_that_comes_back_cannot_spend_again(
    ada: Phone, pays: Stage, key: str
) -> None:
    token = issued()
    snapshot = redis().dump(entry(token))
    assert ada.send(key, **{"X-Token": token}).status_code == 201
    redis().restore(entry(token), 60_000, snapshot, replace=True)
    other = ada.send("other", **{"X-Token": token})
    assert (code(other), effects()) == ((409, "token_used"), 1), TWICE


def test_two_keys_that_both_passed_redis_are_told_apart_by_postgresql(
    ada: Phone, pays: Stage
) -> None:
    """As if Redis lost the mark of the first while both are at work."""
    token, both = issued(), threading.Barrier(2, timeout=10)
    answers: list[tuple[int, str]] = []

    def tap(key: str) -> None:
        answer = ada.send(key, **{"X-Token": token})
        answers.append((answer.status_code, answer.json().get("code", "")))
        connection.close()

    def past_redis(request: Any) -> JsonResponse:
        both.wait()
        mine = {"scope": ADA, "purpose": "transfer", "reference": request.idempotency.reference}
        token_store.consume(tokens.digest_of(token), **mine)
        return JsonResponse({"n": effect(request)}, status=201)

    pays.act = past_redis
    threads = [threading.Thread(target=tap, args=[key]) for key in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [(201, ""), (409, "token_used")], TWICE
    assert (effects(), ConsumedToken.objects.count()) == (1, 1), TWICE


def test_without_redis_nobody_is_waved_through_and_nothing_is_lost(
    ada: Phone, pays: Stage, key: str, settings: Any
) -> None:
    token, there = issued(), settings.CACHES
    settings.CACHES = {
        "default": there["default"] | {"LOCATION": "redis://127.0.0.1:1/0"},
    }
    refused = ada.send(key, **{"X-Token": token})
    assert code(refused) == (503, "unavailable")
    assert (refused.json()["retry"], int(refused["Retry-After"])) == ("same_key", 1)
    with pytest.raises(Transient):
        issued()
    assert (effects(), rows()) == (0, [])
    settings.CACHES = there
    assert ada.send(key, **{"X-Token": token}).status_code == 201


def test_without_the_setting_nobody_is_waved_through_either(
    ada: Phone, pays: Stage, key: str, settings: Any
) -> None:
    token = issued()
    settings.IDEMPOTENCY = {"CACHE": "default"}
    assert ada.send(key, **{"X-Token": token}).status_code == 500
    assert (effects(), rows()) == (0, [])
