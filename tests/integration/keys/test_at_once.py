"""Ten clicks at once on the buttons of a held key, and a retry in the middle: one effect."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from idempotency import Answer, Done, store, sweeps
from idempotency.models import AuditEntry
from tests.concurrency.fulfilments import at_once
from tests.integration.keys import cast
from tests.integration.keys.conftest import Desk

pytestmark = pytest.mark.django_db(transaction=True)


def clicks(key: Any, *steps: str) -> list[Callable[[], int]]:
    """One browser per click, all with the page as it is now."""
    user = get_user_model().objects.filter(username="senior").first() or cast.person(
        "senior", *cast.DECIDE
    )
    fields, browsers = cast.given(key), [cast.browser(user) for _ in steps]

    def click(browser: Client, step: str) -> Callable[[], int]:
        return lambda: browser.post(cast.address(key, step), fields).status_code

    return [click(browser, step) for browser, step in zip(browsers, steps, strict=True)]


def done() -> Counter[str]:
    return Counter(AuditEntry.objects.values_list("action", flat=True))


def test_ten_clicks_at_once_do_it_once(desk: Desk) -> None:
    for step, entry in {"settle": "settled", "release": "released", "ask": "asked"}.items():
        key = cast.row()
        statuses = at_once(*clicks(key, *[step] * 10))
        assert set(statuses) <= {302, 409}, statuses
        assert done()[entry] == 1, f"{step} was done {done()[entry]} times on ten clicks"
    assert desk.asked == 1, f"the other system was asked {desk.asked} times on ten clicks"


def test_of_different_decisions_at_once_one_stands(desk: Desk) -> None:
    desk.says = lambda record: Done(Answer(201, (), b"found"))
    for _ in range(3):
        key = cast.row()
        before = sum(done().values()) - done()["asked"]
        at_once(*clicks(key, *["settle", "release", "ask"] * 3))
        decided = sum(done().values()) - done()["asked"] - before
        row = store.read(key.user_id, key.key)
        assert row is not None
        found = row.record.answer is not None and row.record.answer.body == b"found"
        assert decided + found == 1, f"{decided} decisions of people, and what was found: {found}"


def test_a_person_and_the_sweep_at_once_leave_one_answer(desk: Desk) -> None:
    desk.says = lambda record: Done(Answer(201, (), b"found"))
    for _ in range(3):
        key = cast.row(next_check_at=cast.row().created_at)
        before = done()["settled"]
        ended = at_once(*clicks(key, "settle"), sweeps.recover_due)
        assert not [e for e in ended if isinstance(e, BaseException)], ended
        answer = store.read(key.user_id, key.key).record.answer  # type: ignore[union-attr]
        assert answer is not None
        assert (answer.body == b"found") == (done()["settled"] == before), (
            "what is on record is not what whoever was first decided"
        )
