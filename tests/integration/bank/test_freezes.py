"""Freezing and releasing by staff: once, with a reason; what is so already stays as it is."""

import html
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.test import Client

from idempotency.models import GatedAction
from ledgerline.bank import accounts, errors, freezes
from ledgerline.bank.models import Account, FreezeChange, User
from tests.integration.bank.phone import Phone

pytestmark = pytest.mark.django_db

BOTH = ("freeze", "release_frozen")


def person(name: str, *rights: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    wanted = ("view_account", "view_user", *rights)
    user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    return user


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def sola(db: None) -> User:
    return person("sola", *BOTH)


@pytest.fixture(params=["account", "user"])
def subject(ada: Account, request: pytest.FixtureRequest) -> Account | User:
    return ada if request.param == "account" else ada.owner


def page_of(subject: Any) -> str:
    return f"/admin/bank/{subject._meta.model_name}/{subject.pk}"


def press(client: Client, subject: Any, step: str, *, seen: int, reason: str = "police 7") -> Any:
    form = {"seen": seen, "reason": reason}
    return client.post(f"{page_of(subject)}/{step}/", form, follow=True)


def stands(subject: Any) -> tuple[Any, int]:
    """When it was frozen, and how many changes are on record."""
    subject.refresh_from_db()
    return subject.frozen_at, subject.freeze_changes.count()


def text(response: Any) -> str:
    return html.unescape(response.content.decode())


def test_a_freeze_stops_money_and_a_release_lets_it_move(ada, bola, subject, sola: User) -> None:
    client, phone = browser(sola), Phone(ada)
    assert "Done: it is frozen." in text(press(client, subject, "freeze", seen=0))
    assert phone.pay().json()["code"] == f"{subject._meta.model_name}_frozen"
    frozen = freezes.last_change(subject)
    assert (frozen.actor, frozen.reason, frozen.frozen) == ("staff:sola", "police 7", True)
    response = press(client, subject, "release", seen=frozen.pk, reason="it was another")
    assert "Done: it is released." in text(response)
    assert phone.pay().status_code == 201
    page = text(client.get(f"{page_of(subject)}/change/"))
    assert "by sola: police 7" in page
    assert "by sola: it was another" in page


@pytest.mark.parametrize("seen", ["before", "after"])
def test_frozen_again_succeeds_and_restamps_nothing(subject, sola: User, seen: str) -> None:
    client = browser(sola)
    press(client, subject, "freeze", seen=0)
    before = stands(subject)
    known = 0 if seen == "before" else freezes.last_change(subject).pk
    again = press(client, subject, "freeze", seen=known, reason="me too")
    assert (again.status_code, again.redirect_chain[-1][1]) == (200, 302)
    assert "Nothing was changed. It is frozen already: frozen at" in text(again)
    assert stands(subject) == before, "a second freeze restamped the first or left an entry"


def test_released_again_succeeds_and_restamps_nothing(subject, sola: User) -> None:
    client = browser(sola)
    press(client, subject, "freeze", seen=0)
    known = freezes.last_change(subject).pk
    press(client, subject, "release", seen=known)
    before = stands(subject)
    for seen in (known, freezes.last_change(subject).pk):
        assert "It is released already" in text(press(client, subject, "release", seen=seen))
    assert stands(subject) == before
    assert before[0] is None


def test_another_end_state_on_a_stale_page_is_a_409_that_says_what_to_do(subject, sola) -> None:
    amy, client = browser(person("amy", *BOTH)), browser(sola)
    press(client, subject, "freeze", seen=0)
    first = freezes.last_change(subject).pk
    press(amy, subject, "release", seen=first)
    press(amy, subject, "freeze", seen=freezes.last_change(subject).pk, reason="a court order")
    before = stands(subject)
    response = press(client, subject, "release", seen=first)
    assert response.status_code == 409
    assert "Not done. amy froze it at" in text(response)
    assert "a court order. Look at it again and decide again." in text(response)
    assert stands(subject) == before, "a stale page undid somebody else's freeze"


def test_the_first_click_sent_again_does_not_freeze_what_was_released_since(subject, sola) -> None:
    client = browser(sola)
    press(client, subject, "freeze", seen=0)
    press(client, subject, "release", seen=freezes.last_change(subject).pk)
    before = stands(subject)
    response = press(client, subject, "freeze", seen=0)
    assert (response.status_code, "sola released it at" in text(response)) == (409, True)
    assert stands(subject) == before


def test_a_form_that_names_another_change_decides_nothing(subject, sola: User) -> None:
    first = freezes.freeze(subject, staff=sola, reason="police 7", seen=0).last
    before = stands(subject)
    with pytest.raises(errors.FreezeOvertaken, match=r"sola froze it at .* police 7"):
        freezes.release(subject, staff=sola, reason="typed by hand", seen=first.pk + 1)
    assert stands(subject) == before


def test_without_a_reason_it_is_asked_for(subject, sola: User) -> None:
    response = press(browser(sola), subject, "freeze", seen=0, reason="  ")
    assert (response.status_code, "Say why" in text(response)) == (400, True)
    assert stands(subject) == (None, 0)


def test_each_button_needs_its_own_permission(subject, sola: User) -> None:
    client = browser(person("amy", "release_frozen"))
    assert press(client, subject, "freeze", seen=0).status_code == 403
    with pytest.raises(errors.FreezeRefused, match="permission"):
        freezes.freeze(subject, staff=person("ben"), reason="x", seen=0)
    assert stands(subject) == (None, 0)


def test_the_page_says_what_it_does_before_the_button(subject, sola: User) -> None:
    client = browser(sola)
    assert "../freeze/" in text(client.get(f"{page_of(subject)}/change/"))
    assert "New orders are refused from this moment on" in text(
        client.get(f"{page_of(subject)}/freeze/")
    )
    press(client, subject, "freeze", seen=0)
    assert "../release/" in text(client.get(f"{page_of(subject)}/change/"))
    assert stands(subject)[1] == 1, "a page that was only visited changed something"


def test_the_bank_s_own_accounts_are_not_frozen(sola: User) -> None:
    own = accounts.internal(Account.Role.SETTLEMENT, currency="NGN")
    assert "../freeze/" not in text(browser(sola).get(f"{page_of(own)}/change/"))
    assert press(browser(sola), own, "freeze", seen=0).status_code == 409
    assert stands(own) == (None, 0)


def test_a_refused_change_leaves_its_slot_free(subject, sola: User) -> None:
    with pytest.raises(errors.FreezeRefused):
        freezes.freeze(subject, staff=sola, reason=" ", seen=0)
    assert not GatedAction.objects.exists()
    freezes.release(subject, staff=sola, reason="nothing to release", seen=0)
    assert not GatedAction.objects.exists(), "what changed nothing took a slot"


def test_the_journal_is_never_changed(ada: Account, sola: User) -> None:
    freezes.freeze(ada, staff=sola, reason="police 7", seen=0)
    with pytest.raises(Exception, match="append-only"), transaction.atomic():
        FreezeChange.objects.update(reason="")


@pytest.mark.django_db(transaction=True)
def test_ten_clicks_at_once_are_one_freeze(ada: Account) -> None:
    staff, ready = person("sola", *BOTH), Barrier(10)

    def click(_: int) -> str:
        try:
            client = browser(staff)
            ready.wait(20)
            return text(press(client, ada, "freeze", seen=0))
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(click, range(10)))
    assert stands(ada)[1] == 1, "two clicks froze the account: each left an entry"
    assert sum("Done: it is frozen." in answer for answer in answers) == 1
    friendly = ("Done: it is frozen.", "It is frozen already", "being done right now")
    odd = [answer for answer in answers if not any(words in answer for words in friendly)]
    assert not odd, odd[0][:500] if odd else ""
