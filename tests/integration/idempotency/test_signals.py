"""Every guarded request is told of once, with its outcome; whoever listens breaks no answer."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.dispatch import Signal
from django.http import HttpResponse

from idempotency import NothingHappened, OutcomeUnknown, Refusal, Transient
from idempotency.signals import key_absent, request_ended
from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, effects, succeeds

pytestmark = COMMITTING


class Ear:
    """What one signal said, in order."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    def __call__(self, signal: Signal, **said: Any) -> None:
        self.heard.append(said)

    @property
    def outcomes(self) -> list[tuple[str, int, bool]]:
        return [(said["outcome"], said["status"], said["keyed"]) for said in self.heard]


@pytest.fixture
def ended() -> Iterator[Ear]:
    ear = Ear()
    request_ended.connect(ear)
    yield ear
    request_ended.disconnect(ear)


@pytest.fixture
def absent() -> Iterator[Ear]:
    ear = Ear()
    key_absent.connect(ear)
    yield ear
    key_absent.disconnect(ear)


def raises(error: Exception) -> Any:
    def act(request: Any) -> HttpResponse:
        raise error

    return act


def test_a_request_and_its_replay_are_told_of_once_each(
    ada: Phone, stage_: Stage, key: str, ended: Ear
) -> None:
    stage_.act = succeeds
    ada.send(key), ada.send(key), ada.send(key, {"amount": 2})
    assert ended.outcomes == [
        ("settled", 201, True),
        ("replayed", 201, True),
        ("key_reused", 422, True),
    ], "an outcome was told twice, or not at all"
    for said in ended.heard:
        assert said["sender"] == "stage.required"
        assert 0 < said["seconds"] < 10
        assert said["request"].path == "/required/"


@pytest.mark.parametrize(
    ("act", "outcome", "status"),
    [
        (raises(Refusal("no")), "settled", 400),
        (raises(Transient()), "rolled_back", 503),
        (lambda request: HttpResponse(status=409), "rolled_back", 409),
        (raises(RuntimeError("a bug")), "raised", 500),
        (lambda request: request.idempotency.defer(HttpResponse(status=202)), "deferred", 202),
    ],
)
def test_every_end_of_an_atomic_handler_has_its_word(
    ada: Phone, stage_: Stage, key: str, ended: Ear, act: Any, outcome: str, status: int
) -> None:
    stage_.act = act
    assert ada.send(key).status_code == status
    assert ended.outcomes == [(outcome, status, True)]


def test_a_deferred_key_is_in_progress_for_its_retries(
    ada: Phone, stage_: Stage, key: str, ended: Ear
) -> None:
    stage_.act = lambda request: request.idempotency.defer(HttpResponse(status=202))
    stage_.progress = lambda request, record: __import__("idempotency").Progress()
    ada.send(key), ada.send(key)
    assert ended.outcomes[1:] == [("in_progress", 409, True)]


@pytest.mark.parametrize(
    ("error", "outcome"), [(OutcomeUnknown(), "held"), (NothingHappened(), "rolled_back")]
)
def test_every_end_of_a_leased_handler_has_its_word(
    ada: Phone, stage_: Stage, key: str, ended: Ear, error: Exception, outcome: str
) -> None:
    stage_.act = raises(error)
    ada.send(key, path="/leased/")
    assert [said["outcome"] for said in ended.heard] == [outcome]


@pytest.mark.parametrize(
    ("key", "body", "outcome", "keyed"),
    [
        (None, None, "key_missing", False),
        ("", None, "key_invalid", True),
        ("k", '{"a":1,"a":2}', "body_invalid", True),
        ("k", '"' + "x" * 2_000_000 + '"', "body_too_large", True),
    ],
)
def test_what_is_refused_before_the_claim_is_told_of_too(
    ada: Phone, ended: Ear, key: str | None, body: Any, outcome: str, keyed: bool
) -> None:
    refused = ada.send(key, body)
    assert ended.outcomes == [(outcome, refused.status_code, keyed)]


def test_an_awaited_handler_is_told_of_once_as_well(
    ada: Phone, stage_: Stage, key: str, ended: Ear
) -> None:
    async def act(request: Any) -> HttpResponse:
        return HttpResponse(status=201)

    stage_.act = act
    for _ in range(2):
        assert ada.send(key, path="/async/").status_code == 201
    assert [said["outcome"] for said in ended.heard] == ["settled", "replayed"]


def test_a_read_is_not_told_of(ada: Phone, stage_: Stage, ended: Ear) -> None:
    stage_.act = lambda request: HttpResponse()
    assert ada.send("k", method="get").status_code == 200
    assert ended.heard == []


def test_a_receiver_that_fails_breaks_no_answer(
    ada: Phone, stage_: Stage, key: str, ended: Ear, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("counted wrong")

    stage_.act = succeeds
    for signal in (request_ended, key_absent):
        signal.connect(broken)
    try:
        first, again, missing = ada.send(key), ada.send(key), ada.send(None)
    finally:
        for signal in (request_ended, key_absent):
            signal.disconnect(broken)
    assert [r.status_code for r in (first, again, missing)] == [201, 201, 400]
    assert again.content == first.content
    assert effects() == 1
    assert "counted wrong" in caplog.text, "a broken receiver was hushed up"


def test_whoever_sends_no_key_is_named(
    ada: Phone, stage_: Stage, absent: Ear, settings: Any
) -> None:
    stage_.act = succeeds
    ada.send(None, path="/optional/", **{"User-Agent": "BankApp/4.17 (iOS) curl/8"})
    ada.send(None, **{"User-Agent": "é<script>/1 x"})
    said = [(told["client"], told["refused"]) for told in absent.heard]
    assert said == [("BankApp/4", False), ("script_/1", True)]
