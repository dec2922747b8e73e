"""The one change of a final answer: a stored refusal becomes the success that it turned out to be."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection, transaction
from rest_framework.response import Response

from idempotency import Answer, Progress, Refusal, correct
from tests.concurrency.fulfilments import until_somebody_waits
from tests.integration.idempotency.conftest import ADA, COMMITTING, Phone
from tests.integration.idempotency.stage import Stage, rows, succeeds

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"
PAID = Answer(201, (("Content-Type", "application/json"), ("Location", "/t/1")), b'{"paid": true}')


class GivenUp(Refusal):
    """It failed, and a new key is safe."""

    code = "given_up"


class Never(Refusal):
    """It will never be done, and a new key is not safe."""

    code = "never"
    safe_new_key = False


def refuses(error: Refusal) -> Any:
    def act(request: Any) -> Response:
        raise error

    return act


def cached() -> list[str]:
    return sorted(caches["default"].keys(f"idem:*:{ADA}:*"))


def test_every_retry_gets_the_corrected_answer_and_never_the_old_one(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = refuses(GivenUp())
    assert ada.send(key).status_code == 400
    assert cached() == [], "an answer that may be corrected was cached"
    with transaction.atomic():
        assert correct(ADA, key, PAID) is True
    for _ in range(2):  # from the cache, and from PostgreSQL
        again = ada.send(key)
        assert (again.status_code, again.content) == (201, PAID.body), "the old answer came back"
        assert (again.headers[MARKER], again.headers["Location"]) == ("true", "/t/1")
        caches["default"].clear()
    assert rows() == [(key, "completed", 201)]
    assert stage_.calls == 1
    assert ada.send(key, {"amount": 2}).status_code == 422


def test_it_joins_the_callers_transaction_and_its_rollback(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = refuses(GivenUp())
    ada.send(key)
    with transaction.atomic():
        correct(ADA, key, PAID)
        transaction.set_rollback(True)
    assert ada.send(key).json()["code"] == "given_up"
    assert cached() == [], "a correction that was undone is in the cache"


def test_only_a_refusal_that_invited_a_new_key_is_corrected(
    ada: Phone, stage_: Stage, key: str
) -> None:
    """Any other refusal may be in a cache, from where it would come back."""
    stage_.act = refuses(Never())
    first = ada.send(key)
    assert correct(ADA, key, PAID) is False
    assert ada.send(key).content == first.content


def test_what_succeeded_is_open_or_unknown_is_not_corrected(
    ada: Phone, stage_: Stage, key: str
) -> None:
    stage_.act = succeeds
    done = ada.send(key)
    assert correct(ADA, key, PAID) is False
    assert ada.send(key).content == done.content
    stage_.act = lambda request: request.idempotency.defer(Response(status=202))
    stage_.progress = lambda request, record: Progress()
    ada.send("open")
    assert correct(ADA, "open", PAID) is False
    assert ada.send("open").status_code == 409
    assert correct(ADA, "nobody", PAID) is False


def test_a_second_correction_changes_nothing(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = refuses(GivenUp())
    ada.send(key)
    assert correct(ADA, key, PAID) is True
    assert correct(ADA, key, Answer(201, (), b"another")) is False
    assert ada.send(key).content == PAID.body


def test_two_corrections_at_once_are_one(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = refuses(GivenUp())
    ada.send(key)

    def late() -> bool:
        try:
            return correct(ADA, key, Answer(201, (), b"another"))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert correct(ADA, key, PAID) is True
            second = pool.submit(late)
            until_somebody_waits()
        assert second.result(10) is False, "the guard on the status is missing from the UPDATE"
    assert ada.send(key).content == PAID.body


def test_a_refusal_is_never_corrected_into_a_refusal(ada: Phone, stage_: Stage, key: str) -> None:
    stage_.act = refuses(GivenUp())
    ada.send(key)
    with pytest.raises(ValueError, match="into a success"):
        correct(ADA, key, Answer(400, (), b"no"))
    assert ada.send(key).json()["code"] == "given_up"


def test_it_is_in_the_log_with_the_reference_and_without_the_key(
    ada: Phone, stage_: Stage, key: str, caplog: Any
) -> None:
    stage_.act = refuses(GivenUp())
    ada.send(key)
    correct(ADA, key, PAID)
    [line] = [r for r in caplog.records if getattr(r, "action", "") == "answer_corrected"]
    assert line.status == 201
    assert key not in line.getMessage()
