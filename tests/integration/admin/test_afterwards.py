"""Payments that have a verdict and a case: what the page says, and what can be done about it."""

import pytest
from django.utils import timezone

from fulfilment import Corrected, Corrections, Handlers, handlers
from fulfilment.models import Case, CaseAction, CaseReason, Finding, Fulfilment
from fulfilment.states import State
from tests.integration.admin import cast, pages

TWIN = "the customer's later transfer 17, which is fulfilled"


@pytest.fixture
def client(browser, senior):
    return browser(senior)


@pytest.fixture
def twins(monkeypatch, told):
    """What the project knows of later payments; empty: none."""
    known = [""]
    plain = handlers.handlers_of("payout")
    corrections = Corrections(
        twin=lambda row: known[0],
        on_corrected=lambda row, said: told.append("corrected") or Corrected(note="Taken again."),
        on_paid_twice=lambda row, said: told.append("twice") or "Set aside.",
    )
    able = Handlers(
        on_fulfilled=plain.on_fulfilled,
        on_failed=plain.on_failed,
        on_reversed=plain.on_reversed,
        corrections=corrections,
    )
    monkeypatch.setitem(handlers._registered, "payout", able)
    return known


def now(row):
    return Fulfilment.objects.get(pk=row.pk)


def contradicted(state, finding):
    row = cast.moved(cast.unknown(), state, reason="decided on ticket 12", actor="staff:amy")
    cast.said(row, finding, conclusive=True, amount=10000, currency="NGN")
    cast.case(row, reason=CaseReason.CONFLICT)
    return row


def decide(client, row, value):
    return client.post(pages.step(row, "resolve"), pages.verdict(row, value), follow=True)


def test_late_truth_is_told_with_who_said_it_and_that_the_verdict_stands(client, twins):
    read = pages.text(client.get(pages.case(contradicted(State.FAILED, Finding.DONE))))
    assert "Our verdict on NGN 100.00 is “not paid out”. Decided at" in read
    assert "But Sandbox said done at" in read
    assert "was not paid out." not in read, "a contradicted verdict is told as a fact"
    assert "done (differs)" in read
    assert "Difference The outcome differs" in read
    assert "The verdict stands until a person decides." in read
    assert "The case stays open, and the verdict stands, until a person decides." in read


def test_a_correction_says_what_it_does_before_the_button_and_does_it_once(client, twins, told):
    row = contradicted(State.FAILED, Finding.DONE)
    read = pages.text(client.get(pages.case(row)))
    assert read.index("The app's stored answer changes from failed to completed.") < read.rindex(
        "Correct it: it was paid out"
    )
    answer = decide(client, row, "fulfilled")
    said = pages.text(answer)
    assert "Done: it is corrected to paid out, and the app is told." in said
    assert (now(row).state, told) == (State.FULFILLED, ["corrected"])
    assert "NGN 100.00 was paid out after all. Decided at" in said
    assert "Before that it was “not paid out”, decided at" in said
    assert "senior (staff) corrected the verdict: paid out" in said
    assert "Taken again." in said
    again = decide(client, row, "fulfilled")
    assert "You marked this as paid out already, at" in pages.text(again)
    assert told == ["corrected"]


def test_a_correction_warns_when_the_provider_names_another_amount(client, twins):
    row = contradicted(State.FAILED, Finding.DONE)
    assert "Careful" not in pages.text(client.get(pages.case(row)))
    cast.said(row, Finding.DONE, amount=5000, currency="NGN", conclusive=True)
    assert "Careful: they name NGN 50.00." in pages.text(client.get(pages.case(row)))


def test_a_twin_is_named_before_the_button_and_leads_to_another_case(client, twins, told):
    twins[0] = TWIN
    row = contradicted(State.FAILED, Finding.DONE)
    read = pages.text(client.get(pages.case(row)))
    assert f"Careful: {TWIN}, was made for the same thing. So this is recorded as paid twice." in (
        read
    )
    assert "Record it: it was paid twice" in read
    said = pages.text(decide(client, row, "fulfilled"))
    assert "Recorded as paid twice. The new case says what our books did" in said
    assert (now(row).state, told) == (State.FAILED, ["twice"])
    assert Case.objects.get(closed_at__isnull=True).reason == "paid_twice"
    assert "Our verdict on NGN 100.00 is “not paid out”." in said
    assert "But it was paid, beside another payment for the same thing." in said
    assert "senior (staff) recorded it as paid twice: paid out" in said
    assert "Close the case" in said
    assert "It is on record as paid twice already: our books have it." in said


def test_a_verdict_that_stands_is_left_as_it_is_and_closes_the_case(client, twins, told):
    row = contradicted(State.FULFILLED, Finding.NOT_DONE)
    read = pages.text(client.get(pages.case(row)))
    assert "Leave it as “paid out”" in read
    assert "Mark as not paid out" not in read, "what was paid is offered to be undone"
    said = pages.text(decide(client, row, "fulfilled"))
    assert "Done: it stays paid out, and the case is closed." in said
    assert (now(row).version, told) == (row.version, [])
    assert "senior (staff) left the verdict as it is: paid out" in said


def test_without_a_case_the_buttons_say_so(client, twins, told):
    row = cast.moved(cast.unknown(), State.FAILED, reason="-", actor="staff:amy")
    read = pages.text(client.get(pages.case(row)))
    assert "It is “not paid out” and no case is open." in read
    answer = client.post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"))
    assert answer.status_code == 409
    assert "Open a case first" in pages.text(answer)
    assert told == []


def test_correcting_needs_a_permission_of_its_own(browser, db, twins, told):
    half = tuple(name for name in cast.DECIDE if name != "correct_failed")
    client = browser(cast.person("half", permissions=cast.VIEW + half))
    row = contradicted(State.FAILED, Finding.DONE)
    read = pages.text(client.get(pages.case(row)))
    assert "You do not have the permission “Can correct a verdict that turned out wrong”" in read
    assert decide(client, row, "fulfilled").status_code == 403
    assert told == []


def test_what_was_given_back_tells_both_verdicts(client, twins):
    row = cast.moved(cast.unknown(), State.FULFILLED, reason="done", actor="resolver")
    row = cast.moved(row, State.REVERSED, reason="the provider reported: given back")
    read = pages.text(client.get(pages.case(row)))
    assert "NGN 100.00 was paid out and given back later." in read
    assert "Before that it was “paid out”, decided at" in read
    assert "Paid out, then given back" in read
    assert "Leave it as" not in read, "there is nothing to decide"


def test_a_paid_payment_says_that_a_reversal_would_be_booked_by_itself(client, twins):
    row = cast.moved(cast.unknown(), State.FULFILLED, reason="done", actor="resolver")
    read = pages.text(client.get(pages.case(row)))
    assert "Nothing, unless Sandbox gives the money back: that is booked by itself." in read
    assert "If Sandbox gave the money back, the customer gets it at once." in read


def test_every_word_of_a_case_has_a_verb(client, twins):
    row = cast.unknown()
    case = cast.case(row)
    for action in CaseAction.Action.values:
        case.actions.create(action=action, actor="staff:amy", acted_at=timezone.now())
    read = pages.text(client.get(pages.case(row)))
    for words in ("took the case", "gave the case back", "withdrew the proposal", "corrected the"):
        assert f"amy (staff) {words}" in read


@pytest.mark.parametrize("reason", CaseReason.values)
@pytest.mark.parametrize("state", [State.FULFILLED, State.FAILED])
def test_whatever_the_case_is_about_the_page_is_there(client, twins, reason, state):
    row = cast.moved(cast.unknown(), state, reason="-")
    cast.case(row, reason=reason)
    assert client.get(pages.case(row)).status_code == 200
