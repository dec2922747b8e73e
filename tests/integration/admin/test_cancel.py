"""The button that takes back what was never sent."""

import pytest

from fulfilment.models import CaseAction, Fulfilment
from fulfilment.states import State
from tests.integration.admin import cast, pages

FORM = {"note": "Asked for by telephone.", "version": 0}


@pytest.fixture
def client(browser, senior):
    return browser(senior)


def state(row):
    return Fulfilment.objects.get(pk=row.pk).state


def test_the_page_of_what_waits_says_what_cancelling_does_before_the_button(client):
    read = pages.text(client.get(pages.case(cast.payment())))
    told = read.index("The app will be told: cancelled, and that it may try again.")
    assert told < read.rindex("Cancel it")
    assert "Why is it cancelled?" in read
    assert "Mark as paid out" not in read, "a verdict is offered on what was never sent"


def test_it_is_cancelled_once_with_who_and_why(client, told):
    row = cast.payment()
    for _ in range(2):
        response = client.post(pages.step(row, "cancel"), FORM, follow=True)
        assert "It is cancelled: nothing was sent, and the app is told." in pages.text(response)
    assert (state(row), told) == (State.CANCELLED, ["cancelled"])
    action = CaseAction.objects.get(action="resolved")
    assert (action.actor, action.note) == ("staff:senior", "Asked for by telephone.")
    read = pages.text(client.get(pages.case(row)))
    assert "NGN 100.00 was never sent: it was cancelled. Decided at" in read
    assert "by senior (staff): Asked for by telephone." in read


def test_without_a_reason_it_is_asked_for(client, told):
    row = cast.payment()
    response = client.post(pages.step(row, "cancel"), FORM | {"note": " "})
    assert response.status_code == 400
    assert 'href="#form-cancel"' in response.content.decode(), "no way to what is missing"
    assert (state(row), told) == (State.PENDING, [])


def test_what_was_sent_before_keeps_the_button_and_says_why_not(client, told):
    row = cast.payment()
    attempt = cast.attempted(row)
    row = cast.moved(row, State.DISPATCHING, reason="claimed", attempt=attempt)
    read = pages.text(client.get(pages.case(row)))
    assert "It is being sent to Sandbox at this moment." in read
    cast.close(attempt, outcome="not_sent")
    row = cast.moved(row, State.NEEDS_RECONCILIATION, reason="not sent")
    row = cast.moved(row, State.PENDING, reason="provably not sent")
    assert "It was sent before and may have reached Sandbox." in pages.text(
        client.get(pages.case(row))
    )
    response = client.post(pages.step(row, "cancel"), FORM | {"version": row.version})
    assert response.status_code == 409
    assert "Asked for by telephone." in pages.text(response), "what was typed is lost"
    assert (state(row), told) == (State.PENDING, [])


def test_the_list_of_all_payments_leads_to_the_button(client):
    row = cast.payment()
    content = client.get(f"/admin/fulfilment/fulfilment/{row.pk}/change/").content.decode()
    assert f'href="{pages.case(row)}"' in content
