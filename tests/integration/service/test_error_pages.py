"""What staff see when a step is refused: that nothing was done, and the way back; never a bare line."""

import pytest
from django.test import Client, RequestFactory

from ledgerline import problems
from ledgerline.bank.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("amy", is_staff=True))
    return client


def said(response) -> str:
    content: str = response.content.decode()
    assert "problems.css" in content, "a bare page: its template is missing"
    assert 'href="/admin/"' in content, "a dead end: no way back to the start page"
    return content


def test_a_refusal_says_that_nothing_was_done_and_leads_back(staff: Client) -> None:
    response = staff.get("/admin/bank/account/")
    assert response.status_code == 403
    assert "Nothing was done." in said(response)


def test_an_unknown_address_is_a_page(staff: Client) -> None:
    response = staff.get("/nowhere/")
    assert response.status_code == 404
    assert "There is nothing at this address" in said(response)


def test_a_bad_address_is_a_page(staff: Client) -> None:
    response = staff.get("/admin/bank/account/?q=%00")
    assert response.status_code == 400
    assert "cannot be read" in said(response)


def test_a_form_without_its_token_is_a_page_of_ours_and_says_what_to_do() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("amy", is_staff=True))
    response = client.post("/admin/bank/account/1/freeze/", {"reason": "x"})
    assert response.status_code == 403
    assert "load the page again" in said(response)
    assert "<style" not in response.content.decode(), "the strict policy blocks inline style"


def test_a_bug_never_says_that_nothing_happened() -> None:
    response = problems.server_error(RequestFactory().get("/admin/"))
    assert response.status_code == 500
    assert "not known from this page" in said(response)
    assert "Nothing was done" not in response.content.decode()


def test_every_page_names_its_icon(staff: Client) -> None:
    assert "ledgerline/icon.svg" in staff.get("/admin/").content.decode()
    assert staff.get("/favicon.ico").headers["Location"].endswith("ledgerline/icon.svg")
