"""Above a limit the page speaks of a proposal, and of whoever is still needed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client

from fulfilment.connectors.base import NotFound
from fulfilment.models import CaseAction, Finding, Fulfilment, Transition
from fulfilment.states import State
from tests.integration.admin import cast, pages


@pytest.fixture(autouse=True)
def limit(provider, settings):
    settings.FULFILMENT = settings.FULFILMENT | {"SECOND_PERSON_ABOVE": {"NGN": 9_999}}


@pytest.fixture
def amy(db):
    return cast.person("amy", permissions=cast.VIEW + cast.DECIDE)


def now(row):
    return Fulfilment.objects.get(pk=row.pk)


def propose(browser, person, row, value="fulfilled"):
    return browser(person).post(pages.step(row, "resolve"), pages.verdict(row, value), follow=True)


def form(row):
    proposal = CaseAction.objects.filter(action="proposed").latest("id")
    return {"proposal": proposal.pk, "version": row.version}


def test_the_page_says_before_the_button_that_two_people_decide(browser, senior):
    read = pages.text(browser(senior).get(pages.case(cast.unknown())))
    rule = "Above NGN 99.99 two people decide: nothing moves until a second one approves."
    assert rule in read
    assert "Propose: mark as paid out" in read
    below = pages.text(browser(senior).get(pages.case(cast.unknown(amount=9_999))))
    assert rule not in below
    assert "Propose" not in below


def test_a_proposal_is_shown_with_who_when_and_on_what(browser, senior, amy, told):
    row = cast.unknown()
    said = pages.text(propose(browser, amy, row))
    assert "Proposed: paid out. Nothing moved yet: a second person has to approve it." in said
    assert (now(row).state, told) == (State.NEEDS_RECONCILIATION, [])
    read = pages.text(browser(senior).get(pages.case(row)))
    assert "amy (staff) proposed “paid out” at" in read
    assert "on “statement 0042/7”. Their note: “Seen on the statement.”" in read
    assert "It needs a second person." in read
    assert "Approve: paid out" in read
    assert "Turn the proposal down" in read
    assert "Where is the evidence?" not in read, "another verdict is offered beside the proposal"
    queue = pages.text(browser(senior).get(pages.QUEUE))
    assert "amy (staff) proposed “paid out”: needs a second person" in queue


def test_who_proposed_sees_why_they_cannot_approve_and_may_withdraw(browser, amy, told):
    row = cast.unknown()
    propose(browser, amy, row)
    client = browser(amy)
    read = pages.text(client.get(pages.case(row)))
    assert "You proposed this yourself: a second person has to approve it." in read
    assert "Withdraw your proposal" in read
    refused = client.post(pages.step(row, "approve"), form(row))
    assert refused.status_code == 409
    assert "a second person has to approve it" in pages.text(refused)
    answer = client.post(pages.step(row, "withdraw"), form(row), follow=True)
    assert "The proposal is off the table." in pages.text(answer)
    assert "Propose: mark as paid out" in pages.text(answer)
    assert told == []


def test_the_second_person_approves_and_the_timeline_names_both(browser, senior, amy, told):
    row = cast.unknown()
    propose(browser, amy, row)
    answer = browser(senior).post(pages.step(row, "approve"), form(row), follow=True)
    read = pages.text(answer)
    assert "Done: it is marked as paid out, and the app is told." in read
    assert (now(row).state, told) == (State.FULFILLED, ["fulfilled"])
    story = read.split("Timeline")[1]
    assert story.index("amy (staff) proposed a verdict: paid out") < story.index(
        "senior (staff) approved the verdict: paid out"
    )


def test_the_second_click_on_approve_is_told_that_it_was_done_once(browser, senior, amy, told):
    row = cast.unknown()
    propose(browser, amy, row)
    client, clicked = browser(senior), form(row)
    client.post(pages.step(row, "approve"), clicked)
    again = client.post(pages.step(row, "approve"), clicked, follow=True)
    assert "You marked this as paid out already, at" in pages.text(again)
    assert told == ["fulfilled"]


def test_who_may_only_look_cannot_approve_or_turn_down(browser, viewer, amy, told):
    row = cast.unknown()
    propose(browser, amy, row)
    client = browser(viewer)
    for step in ("approve", "withdraw"):
        assert client.post(pages.step(row, step), form(row)).status_code == 403
    read = pages.text(client.get(pages.case(row)))
    assert "You do not have the permission “Can decide that an effect happened”" in read
    assert told == []


def test_what_was_learnt_meanwhile_takes_the_proposal_off_the_page(
    browser, senior, amy, provider, monkeypatch, told
):
    row = cast.unknown()
    propose(browser, amy, row)
    given = form(row)
    monkeypatch.setattr(provider, "answer", NotFound())
    response = browser(senior).post(pages.step(row, "approve"), given)
    assert response.status_code == 409
    read = pages.text(response)
    assert "This proposal is not open any more" in read
    assert "voided the proposal: paid out" in read
    assert "the provider said meanwhile: not found" in read
    assert told == []


def test_what_nobody_has_judged_yet_takes_it_off_the_page_already(browser, senior, amy):
    row = cast.unknown()
    propose(browser, amy, row)
    cast.said(row, Finding.ACCEPTED)
    read = pages.text(browser(senior).get(pages.case(row)))
    assert "Approve" not in read
    assert "Propose: mark as paid out" in read


@pytest.mark.parametrize("step", ["approve", "withdraw"])
@pytest.mark.parametrize("given", [{}, {"proposal": "x", "version": 1}, {"proposal": 0}], ids=str)
def test_a_form_made_by_hand_changes_nothing(browser, senior, told, step, given):
    row = cast.unknown()
    assert browser(senior).post(pages.step(row, step), given).status_code == 400
    assert (now(row).version, told) == (row.version, [])


def test_the_proposal_of_another_payment_is_not_approved_here(browser, senior, amy, told):
    row, other = cast.unknown(), cast.unknown()
    propose(browser, amy, other)
    given = form(other) | {"version": row.version}
    for step in ("approve", "withdraw"):
        assert browser(senior).post(pages.step(row, step), given).status_code == 409
    assert told == []
    assert not CaseAction.objects.filter(action="withdrawn").exists()


@pytest.mark.django_db(transaction=True)
def test_ten_clicks_on_approve_at_once_give_one_verdict_and_ten_friendly_answers(told):
    row, amy, senior = cast.unknown(), cast.person("amy", permissions=cast.DECIDE), cast.senior()
    proposer = Client()
    proposer.force_login(senior)
    proposer.post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"))
    amy.user_permissions.add(*senior.user_permissions.all())
    approver = Client()
    approver.force_login(amy)
    cookies, given, ready = dict(approver.cookies), form(row), Barrier(10)

    def click(_):
        clicker = Client()
        clicker.cookies.update(cookies)
        try:
            ready.wait(10)
            return pages.text(clicker.post(pages.step(row, "approve"), given, follow=True))
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(click, range(10)))
    assert Transition.objects.filter(fulfilment=row, after=State.FULFILLED).count() == 1
    assert told == ["fulfilled"], "the books were told more than once: two clicks got through"
    friendly = (
        "Done: it is marked as paid out",
        "You marked this as paid out already",
        "made it “Paid out”",
        "This proposal is not open any more",
    )
    odd = [answer for answer in answers if not any(words in answer for words in friendly)]
    assert not odd, f"a click was answered with: {odd[0][:400] if odd else ''}"
