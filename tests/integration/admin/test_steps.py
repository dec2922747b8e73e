"""The buttons: one effect each, and a friendly answer to everything else."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, connections
from django.test import Client

from fulfilment import handlers
from fulfilment.admin.resolve import STEPS
from fulfilment.connectors.base import Declined, Done, NotFound
from fulfilment.models import CaseAction, Evidence, Fulfilment, Transition
from fulfilment.reconcile import cases
from fulfilment.states import State
from tests.integration.admin import cast, pages

CLICKS = 10


@pytest.fixture
def client(browser, senior):
    return browser(senior)


def moves(row, *, after):
    return Transition.objects.filter(fulfilment=row, after=after).count()


def now(row):
    return Fulfilment.objects.get(pk=row.pk)


def test_a_verdict_is_given_through_the_form_and_answers_the_app(client, told):
    row = cast.unknown()
    response = client.post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"), follow=True)
    assert response.redirect_chain == [(pages.case(row), 302)], "a reload would post again"
    assert "Done: it is marked as paid out, and the app is told." in pages.text(response)
    assert now(row).state == State.FULFILLED
    assert told == ["fulfilled"]
    action = CaseAction.objects.get(action="resolved")
    assert (action.actor, action.evidence_reference) == ("staff:senior", "statement 0042/7")


def test_a_reload_after_the_verdict_repeats_nothing(client, told):
    row = cast.unknown()
    client.post(pages.step(row, "resolve"), pages.verdict(row, "failed"))
    for _ in range(2):
        assert client.get(pages.case(row)).status_code == 200
    assert told == ["failed"]


def test_back_and_submit_again_is_told_that_it_was_done_once(client, told):
    row = cast.unknown()
    form = pages.verdict(row, "fulfilled")
    client.post(pages.step(row, "resolve"), form)
    again = client.post(pages.step(row, "resolve"), form, follow=True)
    assert "You marked this as paid out already, at" in pages.text(again)
    assert told == ["fulfilled"]


def test_somebody_else_s_same_verdict_succeeds_and_says_who_gave_it_first(browser, told, db):
    row = cast.unknown()
    first, second = cast.senior(), cast.person("amy", permissions=cast.VIEW + cast.DECIDE)
    form = pages.verdict(row, "fulfilled")
    browser(first).post(pages.step(row, "resolve"), form)
    version = now(row).version
    again = browser(second).post(pages.step(row, "resolve"), form, follow=True)
    assert again.redirect_chain == [(pages.case(row), 302)]
    read = pages.text(again)
    assert "Senior (staff) marked this as paid out already, at" in read
    assert "What you typed was not saved." in read
    assert (now(row).version, told) == (version, ["fulfilled"])
    assert CaseAction.objects.filter(actor="staff:amy").count() == 0


def test_a_stale_form_is_refused_with_who_when_what_it_is_now_and_what_was_typed(browser, told, db):
    row = cast.unknown()
    first, second = cast.senior(), cast.person("amy", permissions=cast.VIEW + cast.DECIDE)
    browser(first).post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"))
    form = pages.verdict(row, "failed", note="My long note.")
    response = browser(second).post(pages.step(row, "resolve"), form)
    read = pages.text(response)
    assert response.status_code == 409
    assert "Not done: senior (staff) made it “Paid out” at" in read
    assert "UTC (" in read
    assert "My long note." in read, "what was typed is lost"
    assert told == ["fulfilled"], "the stale form won"


def test_whoever_was_slower_by_a_moment_is_told_who_decided(told, db):
    row = cast.unknown()
    seen = now(row)  # as the second request read it, just before the first one committed
    amy = cast.person("amy", permissions=cast.VIEW + cast.DECIDE)
    given = {"verdict": "fulfilled", "version": row.version, **pages.VERDICT}
    STEPS["resolve"].run(now(row), actor=cast.senior(), **given)
    said = STEPS["resolve"].run(seen, actor=amy, **given)
    assert "senior (staff) marked this as paid out already" in said.lower(), (
        "amy is told that she did it"
    )
    assert "What you typed was not saved." in said
    assert told == ["fulfilled"]


def test_a_note_on_a_case_that_was_closed_meanwhile_is_refused_and_kept_on_the_page(browser, db):
    row = cast.unknown()
    cast.case(row)
    first, second = cast.senior(), cast.person("amy", permissions=cast.VIEW + cast.DECIDE)
    browser(first).post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"))
    response = browser(second).post(pages.step(row, "note"), {"note": "They will call back."})
    assert response.status_code == 409
    assert "They will call back." in pages.text(response)
    assert row.cases.filter(closed_at__isnull=True).count() == 0


@pytest.mark.parametrize("missing", ["evidence_reference", "note"])
def test_a_verdict_without_evidence_or_note_is_asked_for_them(client, told, missing):
    row = cast.unknown()
    form = pages.verdict(row, "fulfilled", **{missing: "  "})
    response = client.post(pages.step(row, "resolve"), form)
    assert response.status_code == 400
    assert "Not done: something is missing or does not fit." in pages.text(response)
    assert 'href="#form-fulfilled"' in response.content.decode(), "no way to what is missing"
    assert pages.VERDICT["note" if missing != "note" else "evidence_reference"] in (
        response.content.decode()
    ), "what was typed is lost"
    assert now(row).state == State.NEEDS_RECONCILIATION
    assert told == []


@pytest.mark.parametrize("form", [{"verdict": "pending"}, {"version": "x"}, {"verdict": ""}])
def test_a_form_made_by_hand_with_another_verdict_changes_nothing(client, told, form):
    row = cast.unknown()
    response = client.post(pages.step(row, "resolve"), pages.verdict(row, "failed") | form)
    assert response.status_code == 400
    assert told == []


def test_not_paid_out_is_refused_while_an_attempt_may_still_pay(client, told):
    row = cast.unknown(fenced=False)
    response = client.post(pages.step(row, "resolve"), pages.verdict(row, "failed"))
    assert response.status_code == 409
    assert "An attempt may still be under way" in pages.text(response)
    assert told == []


def test_the_providers_own_word_wins_over_a_verdict_against_it(client, provider, told, monkeypatch):
    row = cast.unknown()
    monkeypatch.setattr(provider, "answer", Declined(reason="closed account"))
    response = client.post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"))
    assert response.status_code == 409
    assert "The provider was asked just now and says: not done." in pages.text(response)
    assert told == ["failed"]


def test_asking_the_provider_settles_what_it_knows(client, provider, told, monkeypatch):
    row = cast.unknown()
    monkeypatch.setattr(provider, "answer", Done(amount=row.amount, currency=row.currency))
    response = client.post(pages.step(row, "ask"), follow=True)
    assert "Asked just now: Sandbox said done." in pages.text(response)
    assert (now(row).state, told) == (State.FULFILLED, ["fulfilled"])


def test_asking_a_provider_that_does_not_know_changes_nothing(client, provider, monkeypatch):
    row = cast.unknown()
    monkeypatch.setattr(provider, "answer", NotFound())
    response = client.post(pages.step(row, "ask"), follow=True)
    assert "Sandbox did not find it." in pages.text(response)
    assert now(row).state == State.NEEDS_RECONCILIATION
    said = Evidence.objects.filter(fulfilment=row, actor="staff:senior").get()
    assert said.finding == "not_found"


def test_a_case_is_opened_taken_noted_and_released(client, senior):
    row = cast.unknown()
    for name, form in (("open", {}), ("take", {}), ("note", {"note": "Called them."})):
        assert client.post(pages.step(row, name), form).status_code == 302
    case = row.cases.get()
    assert (case.owner, case.reason) == (senior, "opened_by_agent")
    client.post(pages.step(row, "release"))
    assert row.cases.get().owner is None
    assert "Called them." in pages.text(client.get(pages.case(row)))


@pytest.mark.parametrize("name", ["take", "release", "note"])
def test_the_second_click_on_a_small_step_leaves_one_trace(client, senior, name):
    row = cast.unknown()
    cast.case(row, owner=senior if name == "release" else None)
    for _ in range(2):
        assert client.post(pages.step(row, name), {"note": "Once."}).status_code == 302
    assert CaseAction.objects.filter(case__fulfilment=row).count() == 1, f"{name} was done twice"


def test_an_address_of_a_step_that_is_only_visited_leads_back_to_the_case(client, told):
    row = cast.unknown()
    assert client.get(pages.step(row, "resolve")).headers["Location"] == pages.case(row)
    assert told == []


def test_books_that_refuse_are_reported_and_nothing_moves(client, monkeypatch):
    row = cast.unknown()

    def refuse(fulfilment, evidence):
        raise ValueError("the hold is gone")

    broken = handlers.Handlers(on_fulfilled=refuse, on_failed=refuse, on_reversed=refuse)
    monkeypatch.setitem(handlers._registered, "payout", broken)
    response = client.post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"))
    assert response.status_code == 409
    assert "the hold is gone" in pages.text(response)
    assert now(row).state == State.NEEDS_RECONCILIATION


@pytest.mark.django_db(transaction=True)
def test_ten_identical_clicks_at_once_give_one_verdict_and_nine_friendly_answers(told):
    row, person = cast.unknown(), cast.senior()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person)
    token = browser.get(pages.case(row)).cookies["csrftoken"].value
    form = pages.verdict(row, "fulfilled") | {"csrfmiddlewaretoken": token}
    cookies, ready = dict(browser.cookies), Barrier(CLICKS)

    def click(_):
        clicker = Client(enforce_csrf_checks=True)
        clicker.cookies.update(cookies)
        try:
            ready.wait(10)
            return pages.text(clicker.post(pages.step(row, "resolve"), form, follow=True))
        finally:
            connection.close()

    with ThreadPoolExecutor(CLICKS) as pool:
        answers = list(pool.map(click, range(CLICKS)))
    assert moves(row, after=State.FULFILLED) == 1
    assert told == ["fulfilled"], "the books were told more than once: two clicks got through"
    assert sum("Done: it is marked as paid out" in answer for answer in answers) >= 1
    friendly = ("Done: it is marked", "You marked this as paid out already", "made it “Paid out”")
    odd = [answer for answer in answers if not any(words in answer for words in friendly)]
    assert not odd, f"a click was answered with: {odd[0][:400] if odd else ''}"


def test_the_service_and_the_page_agree_on_what_is_stale(client):
    row = cast.unknown()
    cases.open(row.pk, actor=cast.person("amy", permissions=cast.DECIDE))
    response = client.post(pages.step(row, "resolve"), pages.verdict(row, "fulfilled"))
    assert response.status_code == 302, (
        "a case that was opened meanwhile does not make a form stale"
    )


@pytest.mark.django_db(transaction=True)
def test_asking_works_where_every_request_is_a_transaction(client, provider, told, monkeypatch):
    """What the provider says is committed before anybody acts on it: inside another it could not be."""
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    row = cast.unknown()
    monkeypatch.setattr(provider, "answer", Done(amount=row.amount, currency=row.currency))
    response = client.post(pages.step(row, "ask"), follow=True)
    assert "Asked just now: Sandbox said done." in pages.text(response)
    assert (now(row).state, told) == (State.FULFILLED, ["fulfilled"])
