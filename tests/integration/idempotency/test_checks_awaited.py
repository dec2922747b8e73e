"""Async handlers that would fail at their first request are named at start."""

from typing import Any

import pytest
from django.db import connections, transaction
from django.urls import include, path
from django.utils.decorators import method_decorator

from idempotency.checks import check_awaited
from tests.integration.idempotency import async_views
from tests.integration.idempotency.conftest import COMMITTING

pytestmark = COMMITTING


@method_decorator(transaction.non_atomic_requests, name="dispatch")
class Exempt(async_views.Awaited):
    """As the hint says."""


CASES = {
    "function": (path("", async_views.awaited), None, None),
    "class": (path("", async_views.Awaited.as_view()), None, "idempotency.E005"),
    "exempt": (path("", Exempt.as_view()), None, None),
    "included": (
        path("a/", include([path("b/", async_views.Awaited.as_view())])),
        None,
        "idempotency.E005",
    ),
    "REST framework": (
        path("", async_views.Rest.as_view()),
        "idempotency.E008",
        "idempotency.E008",
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("atomic", [False, True], ids=["", "ATOMIC_REQUESTS"])
def test_an_async_handler_that_cannot_be_served_is_named(
    settings: Any, monkeypatch: Any, case: str, atomic: bool
) -> None:
    pattern, off, on = CASES[case]
    settings.ROOT_URLCONF = (pattern,)
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", atomic)
    found = [error.id for error in check_awaited()]
    expected = on if atomic else off
    assert found == ([expected] if expected else [])


def test_the_hint_of_the_check_is_a_remedy(
    settings: Any, monkeypatch: Any, ada: Any, stage_: Any, key: str
) -> None:
    from django.http import JsonResponse

    settings.ROOT_URLCONF = (path("exempt/", Exempt.as_view()),)
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    stage_.act = lambda request: JsonResponse({"done": True})
    answers = [ada.send(key, path="/exempt/") for _ in "ab"]
    assert [a.status_code for a in answers] == [200, 200]
    assert answers[1].headers["Idempotent-Replayed"] == "true"
