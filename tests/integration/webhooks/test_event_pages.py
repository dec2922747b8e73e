"""The pages of what providers told us: what fits nothing, why, and what a person may do about it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from fulfilment.models import ProviderEvent, ProviderEventAction, ProviderEventPayload
from fulfilment.webhooks.applying import apply_due
from tests.integration.admin import pages
from tests.integration.fulfilment.support import Books, now, staff
from tests.integration.webhooks.support import about, deliver, event, stored, unknown
from tests.integration.webhooks.test_replays import LATER, dead, later

pytestmark = pytest.mark.django_db

LIST = "/admin/fulfilment/providerevent/"
LOOK = ("view_providerevent", "view_fulfilment", "view_reconciliation")


def signed_in(*permissions: str, **more: Any) -> Client:
    client = Client()
    client.force_login(staff("agent", *permissions, **more))
    return client


@pytest.fixture
def agent() -> Client:
    return signed_in(*LOOK, "replay_event")


def page(body: bytes) -> str:
    return reverse("admin:fulfilment_providerevent_change", args=[stored(body).pk])


def button(body: bytes, name: str) -> str:
    return reverse(f"admin:fulfilment_providerevent_{name}", args=[stored(body).pk])


def parked(**given: Any) -> bytes:
    body = event(**({"reference": LATER} | given))
    deliver(body)
    apply_due()
    assert stored(body).status == "parked"
    return body


def listed(client: Client, query: str = "") -> list[str]:
    """The names of the events that the list shows, in its order."""
    rows = client.get(LIST + query).context["cl"].result_list
    return [row.dedupe_key for row in rows]


def test_the_list_shows_what_fits_nothing_oldest_first_and_why(settings, agent) -> None:
    dead(settings, id="evt_old")
    parked(id="evt_new")
    applied = unknown()
    deliver(about(applied))
    deliver(event("some.thing"))
    apply_due()
    assert listed(agent) == ["evt_old", "evt_new"]
    read = pages.text(agent.get(LIST))
    assert "1 event was given up: nothing here fits it." in read
    assert "1 event waits for what it is about." in read
    assert "Nothing with this reference is known here" in read
    assert "transfer.succeeded by Memory, test mode" in read


def test_the_list_can_be_narrowed_by_status_provider_type_reason_and_age(settings, agent) -> None:
    dead(settings, id="evt_dead", reference="")
    parked(id="evt_parked")
    parked(id="evt_other", type="transfer.failed")
    foreign = event(id="evt_foreign", reference="f")
    deliver(foreign, address="/v1/webhooks/foreign")
    apply_due()
    assert listed(agent, "?status=dead") == ["evt_dead"]
    assert listed(agent, "?provider=foreign") == ["evt_foreign"]
    assert listed(agent, "?type=transfer.failed") == ["evt_other"]
    assert listed(agent, "?reason=It+names+no+reference.") == ["evt_dead"]
    assert listed(agent, "?age=older") == []
    assert len(listed(agent, "?age=hour")) == 4
    assert len(listed(agent, "?status=all")) == 4
    assert listed(agent, "?q=evt_parked") == ["evt_parked"]


def test_an_empty_list_says_what_that_means(agent) -> None:
    assert "No event waits for a person." in pages.text(agent.get(LIST))
    assert "No event fits what you chose." in pages.text(agent.get(LIST + "?status=dead"))


def test_many_are_applied_again_from_the_list(
    settings, agent, books: Books, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    bodies, row = [dead(settings), parked(reference="nobody")], later()
    chosen = {"action": "apply_again", "_selected_action": [stored(b).pk for b in bodies]}
    answer = agent.post(LIST, chosen, follow=True)
    assert "2 events will be applied again within seconds." in pages.text(answer)
    assert now(row).state == "needs_reconciliation", "a browser had to wait for the work"
    apply_due()
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert ProviderEventAction.objects.filter(actor="staff:agent").count() == 2


def test_what_was_applied_meanwhile_is_named_and_left_alone(agent) -> None:
    row = unknown()
    body = about(row)
    deliver(body)
    apply_due()
    chosen = {"action": "apply_again", "_selected_action": [stored(body).pk]}
    read = pages.text(agent.post(LIST + "?status=all", chosen, follow=True))
    assert "was left alone. This event is applied" in read
    assert "will be applied again" not in read


def test_the_page_of_an_event_tells_its_story_and_shows_its_body_masked(settings, agent) -> None:
    body = dead(settings, recipient={"account": "0123456789"}, api_token="s3cret")
    read = pages.text(agent.get(page(body)))
    for said in (
        "Nothing with this reference is known here. It was tried once and given up.",
        "It stays on record and is not tried again.",
        "No payment here.",
        "******6789",
        stored(body).digest,
        "Nobody did anything by hand.",
    ):
        assert said in read, f"the page does not say: {said}"
    assert "0123456789" not in read
    assert "s3cret" not in read


def test_a_body_that_is_no_text_or_not_kept_any_more_keeps_its_page(settings, agent) -> None:
    body = dead(settings)
    ProviderEventPayload.objects.filter(event=stored(body)).delete()
    assert "It is not kept any more" in pages.text(agent.get(page(body)))
    answer = agent.post(button(body, "replay"), {"seen": 0})
    assert answer.status_code == 409
    assert "Not done. The body of this event is not kept any more" in pages.text(answer)


def test_the_page_shows_what_else_came_under_its_name(agent) -> None:
    row = unknown()
    deliver(about(row, id="evt_1"))
    deliver(about(row, id="evt_1", amount=501))
    apply_due()
    read = pages.text(agent.get(page(about(row, id="evt_1"))))
    assert "The same name with another content" in read
    assert '"amount": 501' in read
    assert "a case was told of it at" in read
    assert row.reference in read


def test_an_event_is_applied_again_from_its_page(settings, agent, books: Books) -> None:
    body, row = dead(settings), later()
    answer = agent.post(button(body, "replay"), {"seen": 0}, follow=True)
    read = pages.text(answer)
    assert "Applied. What it says is on record" in read
    assert "agent (staff) had it applied again" in read
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})


def test_what_still_fits_nothing_is_said_to_the_person(settings, agent) -> None:
    body = dead(settings)
    read = pages.text(agent.post(button(body, "replay"), {"seen": 0}, follow=True))
    assert "Now it is: parked. Nothing with this reference is known here." in read


def test_an_event_is_set_aside_with_a_reason_and_taken_back(settings, agent) -> None:
    body = dead(settings)
    without = agent.post(button(body, "set_aside"), {"seen": 0})
    assert (without.status_code, stored(body).status) == (400, "dead")
    assert "Say why nothing has to be done about it." in pages.text(without)
    agent.post(button(body, "set_aside"), {"seen": 0, "note": "their test, ticket 12"})
    assert stored(body).status == "set_aside"
    assert listed(agent) == []
    read = pages.text(agent.get(page(body)))
    assert "agent (staff) set it aside at" in read
    assert "their test, ticket 12" in read
    agent.post(button(body, "replay"), {"seen": 1})
    assert stored(body).status == "parked"


def test_a_second_click_changes_nothing_and_says_so(settings, agent) -> None:
    body = dead(settings)
    for _ in range(2):
        answer = agent.post(button(body, "set_aside"), {"seen": 0, "note": "known"}, follow=True)
    assert "You did this already" in pages.text(answer)
    assert ProviderEventAction.objects.count() == 1


def test_whoever_was_slower_is_told_who_was_faster_and_keeps_what_was_typed(
    settings, agent
) -> None:
    body = dead(settings)
    other = Client()
    other.force_login(staff("second", "replay_event", *LOOK))
    other.post(button(body, "replay"), {"seen": 0})
    answer = agent.post(button(body, "set_aside"), {"seen": 0, "note": "my reason"})
    assert answer.status_code == 409
    read = pages.text(answer)
    assert "second (staff) was faster" in read
    assert "my reason" in read
    assert stored(body).status == "parked"


def test_the_page_of_a_payment_shows_the_events_about_it_also_those_that_were_not_believed(
    agent,
) -> None:
    row = unknown()
    bodies = about(row), about(row, livemode=True)
    for body in bodies:
        deliver(body)
    apply_due()
    answer = agent.get(reverse("admin:fulfilment_fulfilment_change", args=[row.pk]))
    read = pages.text(answer)
    assert "Events of the provider" in read
    assert "It is of the live mode" in read
    for body in bodies:
        assert page(body) in answer.content.decode()


def test_an_event_that_is_not_applied_is_not_said_to_say_nothing(agent) -> None:
    read = pages.text(agent.get(page(parked())))
    assert "it is not applied, so it counts for nothing yet" in read
    assert "it is no evidence" not in read


def test_an_applied_event_that_was_overruled_says_what_became_of_it(agent) -> None:
    body = about(unknown())
    deliver(body)
    apply_due()
    overruled = "the provider was asked, and says that it was done"
    ProviderEvent.objects.filter(pk=stored(body).pk).update(reason=overruled)
    read = pages.text(agent.get(page(body)))
    assert "The provider was asked, and says that it was done." in read.split("What it is about")[0]
