"""The page of one case: what is known, by whom, since when."""

from datetime import timedelta

import pytest
from django.utils import timezone

from fulfilment.connectors.base import Capabilities, Dedupe
from fulfilment.models import CaseReason, Finding, Source
from fulfilment.reconcile import casebook
from fulfilment.reconcile.evidence import Statement
from fulfilment.reconcile.record import write
from fulfilment.states import State
from tests.integration.admin import cast, pages


@pytest.fixture
def page(browser, senior):
    client = browser(senior)
    return lambda row: pages.text(client.get(pages.case(row)))


def test_a_lost_answer_is_told_as_not_known(page):
    read = page(cast.unknown())
    assert "We sent it at" in read
    assert "the answer never arrived. Nobody knows yet whether NGN 100.00 left." in read
    assert "failed" not in read.split("What you can do")[0], "unknown is told as a failure"


def test_ours_stands_beside_theirs_with_the_difference_in_words(page):
    row = cast.unknown()
    said = {"amount": 5000, "currency": "NGN", "recipient": "058 ******6780"}
    cast.said(row, Finding.DONE, provider_id="pay_1", provider_status="succeeded", **said)
    read = page(row)
    assert "NGN 50.00 (differs)" in read
    assert "Difference Sandbox's amount is NGN 50.00 less than ours; the payee differs" in read


def test_two_sides_that_agree_differ_in_nothing(page):
    row = cast.unknown()
    cast.said(row, Finding.DONE, amount=10000, currency="NGN", recipient="058 ******6789")
    assert "Difference None in what both sides said." in page(row)


def test_a_silent_provider_is_not_taken_for_agreement(page):
    assert "Unknown: Sandbox has not said yet what became of it." in page(cast.unknown())


def test_the_page_says_what_happens_if_nobody_does_anything(page):
    read = page(cast.unknown())
    assert "Next automatic check at" in read
    assert "it is asked again after 2 minutes, 5 minutes, 15 minutes, …, then every day" in read
    assert "If nobody knows by" in read, "the page does not say when a case opens"


def test_checks_that_have_stopped_are_an_alarm_on_the_case_too(page):
    assert "the checks have stopped" in page(cast.unknown(next_check=-timedelta(hours=1)))


def test_consequences_stand_before_the_buttons(page):
    read = page(cast.unknown())
    told = read.index("The app will be told: completed.")
    assert told < read.rindex("Mark as paid out")
    assert "It cannot be undone." in read


def test_not_paid_out_stays_visible_and_says_that_an_attempt_may_still_pay(page):
    read = page(cast.unknown(fenced=False))
    assert "An attempt may still reach Sandbox until" in read
    assert "Mark as not paid out" in read


def test_paid_out_warns_when_the_provider_names_another_amount(page):
    row = cast.unknown()
    assert "Careful" not in page(row)
    cast.said(row, Finding.DONE, amount=5000, currency="NGN", conclusive=True)
    assert "Careful: they name NGN 50.00. Our books move NGN 100.00 all the same." in page(row)


def test_a_word_that_settles_nothing_yet_says_why(page):
    row = cast.unknown(fenced=False)
    cast.said(row, Finding.NOT_DONE, conclusive=True)
    read = page(row)
    assert "Sandbox said not done at" in read
    assert "not done, but an attempt may still be under way." in read


def test_asking_a_provider_that_cannot_be_asked_says_so(page, provider, monkeypatch):
    deaf = Capabilities(dedupe=Dedupe.NONE, lookup_by_reference=False)
    monkeypatch.setattr(provider, "capabilities", deaf)
    assert "Sandbox cannot be asked about a single payment." in page(cast.unknown())


def test_the_timeline_merges_moves_attempts_words_and_actions_in_order(page):
    row = cast.unknown()
    cast.said(row, Finding.NOT_FOUND, actor="resolver", recorded_at=timezone.now())
    read = page(row).split("Timeline")[1]
    steps = (
        "The customer asked for NGN 100.00 to be paid out",
        "began attempt 1",
        "sent attempt 1 to Sandbox",
        "Sandbox, answering our call gave no answer that says what happened",
        "moved it from “Being sent” to “Unknown”",
        "Sandbox, asked automatically did not find it",
    )
    places = [read.index(step) for step in steps]
    assert places == sorted(places), "the timeline is out of order"


def test_a_case_that_the_rules_opened_says_why_in_the_timeline(page):
    row = cast.unknown()
    case = cast.case(row, reason=CaseReason.DEADLINE)
    case.actions.create(action="opened", actor="resolver", acted_at=timezone.now())
    assert "Our rules opened a case no answer by the deadline" in page(row).split("Timeline")[1]


def test_the_timeline_says_once_why_our_rules_opened_a_case(page):
    row = cast.unknown()
    casebook.open_case(row, reason=CaseReason.DEADLINE, actor="resolver")
    told = page(row).split("Timeline")[1]
    assert told.count("no answer by the deadline") == 1, "the reason is said twice in one line"


def test_the_same_answer_again_and_again_is_one_line(page):
    row = cast.unknown()
    for _ in range(30):
        cast.said(row, Finding.NO_INFORMATION, actor="resolver")
    assert page(row).count("could not be asked") == 2, "the story and one line of the timeline"
    assert "could not be asked 30 times" in page(row)


def test_a_twin_payment_to_the_same_payee_is_shown(page):
    row, twin = cast.unknown(), cast.unknown()
    others = [
        cast.unknown(amount=1),
        cast.unknown(account="0999999999"),
        cast.unknown(currency="EUR"),
    ]
    read = page(row)
    assert twin.reference in read
    assert not [other for other in others if other.reference in read]


def test_no_page_shows_a_full_account_number(browser, senior):
    row = cast.unknown()
    cast.said(row, Finding.NOT_DONE, detail=f"account {cast.ACCOUNT} is closed")
    case = cast.case(row, reason=CaseReason.CONFLICT)
    case.actions.create(
        action="noted", actor="staff:amy", note=f"asked for {cast.ACCOUNT}", acted_at=timezone.now()
    )
    client = browser(senior)
    for address in (pages.QUEUE, pages.case(row), "/admin/fulfilment/fulfilment/"):
        content = client.get(address).content.decode()
        assert cast.ACCOUNT not in content, f"{address} shows the payee's full number"
        assert "6789" in content


def test_a_decided_payment_keeps_its_page_and_says_who_decided(page):
    row = cast.moved(cast.unknown(), State.FAILED, reason="decided on ticket 12", actor="staff:amy")
    read = page(row)
    assert "NGN 100.00 was not paid out. Decided at" in read
    assert "by amy (staff): decided on ticket 12." in read
    assert "It is “not paid out” and no case is open." in read


def test_of_a_body_that_was_taken_away_the_digest_is_shown(page):
    row = cast.unknown()
    body = Statement(finding=Finding.UNKNOWN, body=b"<html>")
    kept = write(row, body, source=Source.LOOKUP, actor="resolver")
    assert "body removed" not in page(row)
    kept.payload.delete()
    read = page(row)
    assert f"body removed after 90 days (SHA-256 {kept.digest})" in read
