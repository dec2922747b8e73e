"""What comes before the guard comes before it on every replay, and never touches the key (11, Q6)."""

from typing import Any

import pytest

from tests.integration.idempotency.conftest import COMMITTING, Phone
from tests.integration.idempotency.kinds import Door
from tests.integration.idempotency.stage import Stage, rows, succeeds

pytestmark = COMMITTING

MARKER = "Idempotent-Replayed"
PATH = "/behind/"


def test_a_permission_that_was_taken_away_answers_before_the_stored_answer(
    ada: Phone, stage_: Stage, key: str, monkeypatch: Any
) -> None:
    stage_.act = succeeds
    monkeypatch.setattr(Door, "is_open", False)
    assert ada.send(key, path=PATH).status_code == 403
    assert rows() == [], "a request that was turned away has left a key"
    monkeypatch.setattr(Door, "is_open", True)
    first = ada.send(key, path=PATH)
    monkeypatch.setattr(Door, "is_open", False)
    denied = ada.send(key, path=PATH)
    assert (denied.status_code, MARKER in denied.headers) == (403, False), (
        "a stored answer was shown to somebody who may not see it any more"
    )
    assert ada.send(key, {"amount": 2}, path=PATH).status_code == 403, "it was told whose key it is"
    monkeypatch.setattr(Door, "is_open", True)
    again = ada.send(key, path=PATH)
    assert (again.content, again.headers[MARKER], stage_.calls) == (first.content, "true", 1)


@pytest.mark.parametrize(
    ("phone", "headers", "method", "status"),
    [
        (Phone(None), {}, "post", 401),
        (Phone("bad"), {}, "post", 401),
        (Phone(), {"Accept": "image/png"}, "post", 406),
        (Phone(), {}, "delete", 405),
    ],
    ids=["nobody", "wrong credentials", "not acceptable", "no such method"],
)
@pytest.mark.parametrize("bad", ["k1,k2", None, "used"])
def test_the_frameworks_own_answers_come_first_whatever_the_key(
    ada: Phone,
    stage_: Stage,
    phone: Phone,
    headers: dict[str, str],
    method: str,
    status: int,
    bad: str | None,
) -> None:
    stage_.act = succeeds
    assert ada.send("used", path=PATH).status_code == 201
    before = rows()
    answer = phone.send(bad, path=PATH, method=method, **headers)
    assert (answer.status_code, MARKER in answer.headers) == (status, False)
    assert (rows(), stage_.calls) == (before, 1)
