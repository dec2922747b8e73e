"""Who may do what: asked on the server, for hand-made requests too, superusers not exempt."""

import pytest
from django.test import Client

from fulfilment.models import Attempt, Case, CaseAction, Evidence, Fulfilment, Transition
from fulfilment.states import State
from tests.integration.admin import cast, pages

STEPS = ("resolve", "approve", "withdraw", "cancel", "ask", "open", "take", "release", "note")


def posted(client, row, name, value="fulfilled"):
    return client.post(pages.step(row, name), pages.verdict(row, value, proposal=1))


def untouched(row):
    fresh = Fulfilment.objects.get(pk=row.pk)
    return (fresh.state, fresh.version) == (row.state, row.version)


@pytest.mark.parametrize("name", STEPS)
def test_who_may_only_look_can_do_nothing_by_hand_either(browser, viewer, told, name):
    row = cast.unknown()
    cast.case(row)
    response = posted(browser(viewer), row, name)
    assert response.status_code == 403
    assert untouched(row)
    assert told == []
    assert not CaseAction.objects.exists()


def test_who_may_only_look_sees_every_button_and_why_it_is_not_theirs(browser, viewer):
    read = pages.text(browser(viewer).get(pages.case(cast.unknown())))
    for button in ("Mark as paid out", "Mark as not paid out", "Ask Sandbox now", "Open a case"):
        assert button in read, f"{button} is hidden"
    assert "You do not have the permission “Can decide that an effect happened”" in read
    assert "You may look at cases but not work on them." in read
    assert "Where is the evidence?" not in read, "a form is offered that can only be refused"


def test_a_superuser_without_the_grant_may_not_decide(browser, db, told):
    row = cast.unknown()
    client = browser(cast.person("root", is_superuser=True))
    assert posted(client, row, "resolve").status_code == 403
    assert told == []


@pytest.mark.parametrize(
    ("grant", "may"), [("resolve_fulfilled", "fulfilled"), ("resolve_failed", "failed")]
)
def test_each_verdict_has_a_permission_of_its_own(browser, db, told, grant, may):
    client = browser(cast.person("half", permissions=(*cast.VIEW, grant)))
    answers = {v: posted(client, cast.unknown(), "resolve", v) for v in ("fulfilled", "failed")}
    assert {v for v, answer in answers.items() if answer.status_code == 302} == {may}
    assert told == [may]


@pytest.mark.parametrize("address", ["queue", "case", "step"])
def test_staff_without_view_permission_are_refused(browser, db, address):
    row = cast.unknown()
    client = browser(cast.person("outsider", permissions=cast.DECIDE))
    path = {"queue": pages.QUEUE, "case": pages.case(row), "step": pages.step(row, "resolve")}
    answer = client.post(path[address], pages.verdict(row, "fulfilled"))
    assert answer.status_code == 403
    assert untouched(row)


def test_nobody_gets_in_without_a_login(db):
    row = cast.unknown()
    for address in (pages.QUEUE, pages.case(row), pages.step(row, "resolve")):
        assert "/admin/login/" in Client().post(address).headers["Location"]
    assert untouched(row)


def test_a_post_without_a_csrf_token_is_refused(senior, told):
    row = cast.unknown()
    client = Client(enforce_csrf_checks=True)
    client.force_login(senior)
    for name in STEPS:
        assert posted(client, row, name).status_code == 403, f"{name} takes a forged POST"
    assert told == []


@pytest.mark.parametrize("model", ["reconciliation", "fulfilment"])
def test_rows_cannot_be_added_changed_or_deleted_by_a_superuser(browser, db, model):
    row = cast.unknown()
    client = browser(cast.person("root", is_superuser=True))
    base = f"/admin/fulfilment/{model}/"
    for path in ("add/", f"{row.pk}/delete/"):
        assert client.get(base + path).status_code == 403
        assert client.post(base + path, {"post": "yes"}).status_code == 403
    edit = {"state": State.FULFILLED, "amount": 1, "_save": "Save"}
    assert client.post(f"{base}{row.pk}/change/", edit).status_code == 405
    assert untouched(row)


@pytest.mark.parametrize("model", ["reconciliation", "fulfilment"])
def test_a_hand_made_bulk_action_deletes_nothing(browser, db, model):
    row = cast.unknown()
    client = browser(cast.person("root", is_superuser=True))
    form = {"action": "delete_selected", "_selected_action": [row.pk], "index": 0, "post": "yes"}
    client.post(f"/admin/fulfilment/{model}/", form)
    assert untouched(row)
    assert "delete_selected" not in client.get(f"/admin/fulfilment/{model}/").content.decode()


@pytest.mark.parametrize("model", [Attempt, Case, CaseAction, Evidence, Transition])
def test_the_records_behind_a_payment_have_no_page_that_could_change_them(browser, db, model):
    client = browser(cast.person("root", is_superuser=True))
    address = f"/admin/fulfilment/{model._meta.model_name}/"
    assert client.get(address).status_code == 404
    assert client.get(address + "add/").status_code == 404


def test_a_payment_that_does_not_exist_is_not_found(browser, senior):
    client = browser(senior)
    for name in ("999999999", "x", "1e3"):
        assert client.get(f"{pages.QUEUE}{name}/change/").status_code == 404
