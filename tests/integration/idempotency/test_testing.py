"""The helpers for adopters' tests: they pass for a guarded view, and say what is wrong with others."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.http import JsonResponse
from rest_framework.response import Response

import idempotency
from idempotency import Answer, Done, NotDone, Transient, gate
from idempotency.testing import (
    POINTS,
    at_once,
    clean_keys,
    expire_action,
    expire_lease,
    frozen_at,
    held,
    killed_at,
    record_of,
    replay,
)
from idempotency.testing.fixtures import idempotency_key, keyed_client
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effect, effects, rows, succeeds

__all__ = ["idempotency_key", "keyed_client"]

pytestmark = COMMITTING


def calls_outside(request: Any) -> Response:
    """A leased handler whose other system is a row that is committed before the answer is."""
    claim = request.idempotency
    claim.sending()
    effect(request, claim.reference)
    with claim.settling():
        return Response({"by": "the first"}, status=201)


def asked(record: Any) -> object:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM stage_effects WHERE note = %s", [record.reference])
        if cursor.fetchone() is None:
            return NotDone()
    return Done(Answer(201, (("Content-Type", "application/json"),), b'{"by":"recovery"}'))


@pytest.fixture(autouse=True)
def _plays(stage_: Stage) -> None:
    stage_.act, stage_.recover = succeeds, asked


def test_a_guarded_request_passes_and_gives_its_replay(ada: Phone, key: str) -> None:
    again = replay(lambda: ada.send(key), effects=effects)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (201, "true")


def test_the_fixtures_send_a_key_of_their_own(
    keyed_client: Any, idempotency_key: str, stage_: Stage
) -> None:
    stage_.act = lambda request: JsonResponse({"n": effect(request)})
    order = partial(keyed_client.post, "/plain/", {"a": "1"}, headers={"X-User": str(ADA)})
    replay(order, effects=effects)
    assert record_of(ADA, idempotency_key) is not None


@pytest.mark.parametrize(
    ("send", "complaint"),
    [
        ({"path": "/bare/"}, "the handler ran twice"),
        ({"key": None}, "not carried out: it answered 400 key_missing"),
        ({"user": None}, "not carried out: it answered 401"),
    ],
)
def test_what_is_not_guarded_does_not_pass_as_a_replay(
    key: str, send: dict[str, Any], complaint: str
) -> None:
    phone = Phone(send.pop("user", ADA))
    with pytest.raises(AssertionError, match=complaint):
        replay(lambda: phone.send(**({"key": key} | send)))


def test_a_second_effect_is_counted_whatever_the_answers_say(ada: Phone, key: str) -> None:
    with pytest.raises(AssertionError, match="applied twice: 1 became 2"):
        replay(lambda: ada.send(key, path="/bare/"), effects=effects)


def test_a_key_that_was_used_before_proves_nothing(ada: Phone, key: str) -> None:
    ada.send(key)
    with pytest.raises(AssertionError, match="a replay already"):
        replay(lambda: ada.send(key))


def test_an_answer_that_is_not_stored_is_named(ada: Phone, stage_: Stage, key: str) -> None:
    def act(request: Any) -> Response:
        if stage_.calls == 1:
            return Response(status=409)
        raise Transient

    stage_.act = act
    with pytest.raises(AssertionError, match="503 unavailable instead of a replay of 409"):
        replay(lambda: ada.send(key))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("response_body = '{}'", "another answer is replayed"),
        ("response_headers = response_headers - 0", "another content-type"),
    ],
)
def test_a_replay_that_differs_is_found(
    ada: Phone, key: str, settings: Any, change: str, complaint: str
) -> None:
    settings.IDEMPOTENCY = {"CACHE": None}

    def spoilt() -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE idempotency_keys SET {change}")
        return 0

    with pytest.raises(AssertionError, match=complaint):
        replay(lambda: ada.send(key), effects=spoilt)


def test_twelve_at_once_are_one(ada: Phone, key: str) -> None:
    answers = at_once(lambda: ada.send(key), times=12, effects=effects)
    assert len(answers) == 12
    assert effects() == 1


def test_two_orders_under_one_key_at_once_are_one(ada: Phone, key: str) -> None:
    at_once(lambda: ada.send(key), lambda: ada.send(key, {"amount": 2}), effects=effects)


def test_two_that_both_ran_are_found(ada: Phone, key: str) -> None:
    with pytest.raises(AssertionError, match="two ran: the view is not guarded"):
        at_once(lambda: ada.send(key, path="/bare/"))


def test_none_that_ran_is_found(key: str) -> None:
    with pytest.raises(AssertionError, match=r"none ran: is the app installed.*401"):
        at_once(lambda: Phone(None).send(key))


def test_an_effect_that_nobody_answered_for_is_found(ada: Phone, stage_: Stage, key: str) -> None:
    def act(request: Any) -> Response:
        effect(request), effect(request)
        return Response(status=201)

    stage_.act = act
    with pytest.raises(AssertionError, match="one answered as if it ran, and 2 were applied"):
        at_once(lambda: ada.send(key), effects=effects)


@pytest.mark.parametrize("helper", [at_once, partial(killed_at, "atomic.written")])
def test_a_test_that_commits_nothing_is_told_so(ada: Phone, key: str, helper: Any) -> None:
    with transaction.atomic(), pytest.raises(AssertionError, match="runs in a transaction"):
        helper(lambda: ada.send(key))


@pytest.mark.parametrize(("point", "committed"), [("atomic.written", 0), ("atomic.settled", 1)])
def test_a_process_is_killed_before_or_after_its_commit(
    ada: Phone, key: str, point: str, committed: int
) -> None:
    killed_at(point, lambda: ada.send(key))
    assert effects() == committed, f"it was not killed at {point}"
    assert ada.send(key).headers.get("Idempotent-Replayed") == ("true" if committed else None)
    assert effects() == 1


@pytest.mark.parametrize(
    ("point", "told"), [("leased.marked", "the first"), ("leased.called", "recovery")]
)
def test_a_killed_call_is_asked_about_once_its_lease_is_over(
    ada: Phone, stage_: Stage, key: str, point: str, told: str
) -> None:
    stage_.act = calls_outside
    killed_at(point, lambda: ada.send(key, path="/leased/"))
    assert ada.send(key, path="/leased/").status_code == 409
    expire_lease(ADA, key)
    assert ada.send(key, path="/leased/").json() == {"by": told}
    assert effects() == 1


def test_a_process_wakes_up_after_its_lease_and_its_answer_is_heard(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = calls_outside
    with frozen_at("leased.called", lambda: ada.send(key, path="/leased/")) as frozen:
        expire_lease(ADA, key)
        assert ada.send(key, path="/leased/").json() == {"by": "recovery"}
    assert frozen.answer is not None
    assert (frozen.answer.status, frozen.answer.replayed) == (201, True)
    assert frozen.answer.body == b'{"by":"recovery"}'


@pytest.mark.parametrize("path", ["/bare/", "/required/"])
def test_a_point_that_is_never_passed_is_named(ada: Phone, key: str, path: str) -> None:
    with pytest.raises(AssertionError, match=r"without passing leased\.called; it answered 201"):
        killed_at("leased.called", lambda: ada.send(key, path=path))
    with (
        pytest.raises(AssertionError, match=r"without passing leased\.called"),
        frozen_at("leased.called", lambda: ada.send(key + "b", path=path)),
    ):
        pass


def refund() -> int:
    with gate.claim("refund", target="42") as action:
        action.settle("done")
    return 1


def test_an_action_that_died_is_held_once_its_lease_is_over() -> None:
    killed_at("gate.claimed", refund)
    with pytest.raises(gate.InProgress):
        refund()
    assert gate.hold_expired() == 0
    expire_action("refund", target="42")
    assert gate.hold_expired() == 1
    with pytest.raises(gate.Held):
        refund()


def test_an_action_that_is_not_claimed_has_no_lease() -> None:
    with pytest.raises(AssertionError, match="it is not on record"):
        expire_action("refund", target="42")
    refund()
    with pytest.raises(AssertionError, match="it is settled"):
        expire_action("refund", target="42")


def test_every_point_that_is_passed_can_be_named() -> None:
    source = "".join(path.read_text() for path in Path(idempotency.__path__[0]).rglob("*.py"))
    passed = set(re.findall(r'checkpoint\("([\w.]+)"\)', source))
    assert set(POINTS) == passed, (
        "a point is passed that no test can name, or named and never passed"
    )


def test_what_a_child_raised_is_shown() -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        killed_at("leased.called", lambda: 1 / 0)
    with pytest.raises(ValueError, match=r"no point 'leased\.begun'"):
        killed_at("leased.begun", lambda: None)


def test_a_held_key_is_due_for_a_question(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = calls_outside
    killed_at("leased.called", lambda: ada.send(key, path="/leased/"))
    held(ADA, key)
    record = record_of(ADA, key)
    assert record is not None
    assert record.held_at is not None
    assert ada.send(key, path="/leased/").json() == {"by": "recovery"}


def test_what_cannot_expire_or_be_held_says_what_it_is(ada: Phone, key: str) -> None:
    with pytest.raises(AssertionError, match="not on record"):
        expire_lease(ADA, key)
    ada.send(key)
    with pytest.raises(AssertionError, match=r"it is finished \(completed\)"):
        held(ADA, key)


def test_forgotten_keys_are_forgotten_everywhere(ada: Phone, key: str) -> None:
    ada.send(key)
    clean_keys()
    assert rows() == []
    assert "Idempotent-Replayed" not in ada.send(key).headers, "the cache still answers"
