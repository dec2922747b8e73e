"""The button that sends a payment again under a new reference, and what it says before."""

import pytest

from fulfilment.models import Finding, Fulfilment, Source
from fulfilment.states import State
from tests.integration.admin import cast, pages

pytestmark = pytest.mark.django_db

ALL = (*cast.VIEW, *cast.DECIDE, "send_again")


def newest(row: Fulfilment) -> Fulfilment:
    return Fulfilment.objects.filter(payment_id=row.payment_id).latest("generation")


def click(client, row: Fulfilment, **more):
    form = pages.verdict(row, "send_again", **more)
    return client.post(pages.step(row, "resolve"), form, follow=True)


def test_the_page_says_before_the_button_what_sending_again_does(browser):
    row = cast.unknown()
    read = pages.text(browser(cast.person("amy", permissions=ALL)).get(pages.case(row)))
    assert "Not done: send it again under a new reference" in read
    assert "A second order over NGN 100.00 goes to Sandbox, under a new reference." in read
    assert "The app is told nothing yet, and the money stays held" in read
    assert "it is paid twice. It cannot be undone." in read


def test_one_click_sends_it_again_and_both_pages_tell_of_each_other(browser, told):
    row, client = cast.unknown(), browser(cast.person("amy", permissions=ALL))
    read = pages.text(click(client, row))
    second = newest(row)
    assert second.generation == 2
    assert f"is sent again under the reference {second.reference}" in read
    assert "This payment, reference 2" in read
    assert "gave the verdict: not paid out, send it again" in read
    assert f"It was sent again under the reference {second.reference}" in read
    assert f"What the app is told is decided under the newer one, {second.reference}." in read
    assert row.reference in pages.text(client.get(pages.case(second)))
    assert told == [], "the app was told of a failure that is not the end"


def test_a_second_click_is_friendly_and_sends_nothing_more(browser):
    row, client = cast.unknown(), browser(cast.person("amy", permissions=ALL))
    click(client, row)
    assert "this click changed nothing" in pages.text(click(client, row))
    assert newest(row).generation == 2


def test_without_the_permission_the_button_says_why_it_cannot_be_pressed(browser):
    row = cast.unknown()
    client = browser(cast.person("bob", permissions=(*cast.VIEW, *cast.DECIDE)))
    read = pages.text(client.get(pages.case(row)))
    assert "permission “Can send again, under a new reference, what did not happen”" in read
    assert click(client, row).status_code == 403
    assert newest(row).generation == 1


def test_it_waits_for_the_fence_like_every_not_done(browser):
    row = cast.unknown(fenced=False)
    client = browser(cast.person("amy", permissions=ALL))
    assert "may still reach Sandbox until" in pages.text(client.get(pages.case(row)))
    assert click(client, row).status_code == 409


def test_a_proposal_to_send_again_is_approved_by_somebody_else(browser, settings):
    settings.FULFILMENT = settings.FULFILMENT | {"SECOND_PERSON_ABOVE": {"NGN": 9_999}}
    row = cast.unknown()
    read = pages.text(click(browser(cast.person("amy", permissions=ALL)), row))
    assert "Proposed: not paid out, send it again" in read
    second = browser(cast.person("ben", permissions=ALL))
    assert "Approve: not paid out, send it again" in pages.text(second.get(pages.case(row)))
    proposal = row.cases.get().actions.get(action="proposed")
    form = {"proposal": proposal.pk, "version": row.version}
    second.post(pages.step(row, "approve"), form, follow=True)
    assert newest(row).generation == 2


def test_late_truth_about_the_older_says_that_the_newer_is_given_up(browser, told):
    row, client = cast.unknown(), browser(cast.person("amy", permissions=ALL))
    click(client, row)
    second = newest(row)
    done = {"conclusive": True, "amount": row.amount, "currency": row.currency}
    cast.said(row, Finding.DONE, source=Source.WEBHOOK, **done)
    row = Fulfilment.objects.get(pk=row.pk)
    cast.case(row)
    read = pages.text(client.get(pages.case(row)))
    assert f"The newer reference {second.reference} is given up" in read
    client.post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"), follow=True)
    assert [f.state for f in (newest(row), Fulfilment.objects.get(pk=row.pk))] == [
        State.FAILED,
        State.FULFILLED,
    ]
    assert told == ["fulfilled"]
