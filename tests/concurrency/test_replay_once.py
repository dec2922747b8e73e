"""One event, applied again by several people and workers at once: one effect, and who did what."""

from typing import Any

import pytest

from fulfilment.errors import Stale
from fulfilment.models import Evidence, ProviderEventAction
from fulfilment.webhooks import replays
from fulfilment.webhooks.applying import apply_due
from tests.concurrency.test_webhook_once import SAID, at_once
from tests.integration.fulfilment.support import Books, now, staff
from tests.integration.webhooks.conftest import books, provider, world  # noqa: F401
from tests.integration.webhooks.support import deliver, stored
from tests.integration.webhooks.test_replays import dead, later

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_event_that_eight_people_and_two_workers_apply_again_at_once_has_one_effect(
    settings: Any,
    books: Books,  # noqa: F811
) -> None:
    people = [staff(f"agent {n}", "replay_event") for n in range(8)]
    body, row = dead(settings), later()

    def replay(person: Any) -> str:
        try:
            return replays.replay(stored(body).pk, actor=person).status
        except replays.EventIsApplied:
            return "applied before"

    at_once([*[lambda p=person: replay(p) for person in people], apply_due, apply_due])
    assert Evidence.objects.filter(source="webhook").count() == 1, SAID
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert stored(body).status == "applied"


def test_of_ten_clicks_on_one_page_one_counts_and_the_others_are_told_who_was_faster(
    settings: Any,
) -> None:
    person = staff("agent", "replay_event")
    body = dead(settings, reference="nobody")

    def click() -> str:
        try:
            replays.set_aside(stored(body).pk, actor=person, note="known", seen=0)
        except Stale as error:
            return error.who
        return "done"

    assert sorted(at_once([click] * 10)) == ["done", *["staff:agent"] * 9]
    assert ProviderEventAction.objects.count() == 1, "a double click is on record twice"
    assert deliver(body).status_code == 200
