"""Held actions: what staff see of them, and what each button does, once."""

import html
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.utils import timezone

from idempotency import gate
from idempotency.errors import HoldOver, NotPermitted, ReasonMissing
from idempotency.models import AuditEntry, GatedAction
from ledgerline.bank.models import User

pytestmark = pytest.mark.django_db

LIST = "/admin/idempotency/gatedaction/"
ALL = ("settle_held_action", "release_held_action")


def person(name: str, *rights: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    wanted = ("view_gatedaction", *rights)
    user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    return user


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def sola(db: None) -> User:
    return person("sola", *ALL)


@pytest.fixture
def held(db: None) -> GatedAction:
    with gate.claim("refund.approve", target="r-1") as action:
        action.hold("the provider did not answer")
    return GatedAction.objects.get()


def form(row: GatedAction, **said: Any) -> dict[str, Any]:
    seen = {"held_at": row.held_at.isoformat(), "slot": row.slot}
    return seen | {"reason": "statement 42, line 7"} | said


def press(client: Client, row: GatedAction, step: str, **said: Any) -> Any:
    return client.post(f"{LIST}{row.pk}/{step}/", form(row, **said), follow=True)


def text(response: Any) -> str:
    return html.unescape(response.content.decode())


def test_the_list_says_how_many_are_held_and_finds_them(sola: User, held: GatedAction) -> None:
    with gate.claim("refund.approve", target="r-2"):
        pass
    page = text(browser(sola).get(LIST))
    assert "1 action is held: nobody knows whether it happened." in page
    only = browser(sola).get(f"{LIST}?state=held").context["cl"].result_list
    assert list(only) == [held]
    for words in (held.slot, "refund.approve r-1"):
        found = browser(sola).get(LIST, {"q": words}).context["cl"].result_list
        assert list(found) == [held], f"{words!r} does not find the action"
    assert browser(sola).get(LIST, {"q": "x" * 600 + " y"}).status_code == 200


def test_the_page_says_what_is_known_and_what_each_button_does(sola, held: GatedAction) -> None:
    page = text(browser(sola).get(f"{LIST}{held.pk}/change/"))
    assert "Nobody knows whether this happened." in page
    assert "the provider did not answer" in page
    assert "until a person says what became of it" in page
    assert "If it did happen after all, it happens twice." in page


def test_that_it_happened_is_recorded_with_who_and_why(sola: User, held: GatedAction) -> None:
    response = press(browser(sola), held, "settle", body='{"refund": "rf_1"}')
    assert "it counts as done" in text(response)
    with pytest.raises(gate.AlreadySettled) as told, gate.claim("refund.approve", target="r-1"):
        pytest.fail("an action that a person settled ran again")
    assert told.value.result == {"refund": "rf_1"}
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject, entry.reason) == (
        "staff:sola",
        "settled",
        f"action:{held.slot}",
        "statement 42, line 7",
    )


def test_that_it_did_not_happen_frees_it(sola: User, held: GatedAction) -> None:
    assert "whoever asks for it next does it" in text(press(browser(sola), held, "release"))
    assert AuditEntry.objects.get().action == "released"
    with gate.claim("refund.approve", target="r-1") as action:
        assert action.gated


@pytest.mark.parametrize("step", ["settle", "release"])
def test_a_second_click_changes_nothing_and_says_so(sola, held: GatedAction, step: str) -> None:
    client = browser(sola)
    press(client, held, step)
    again = press(client, held, step)
    assert "this click changed nothing" in text(again)
    assert again.status_code == 200
    assert AuditEntry.objects.count() == 1, "the second click left an entry of its own"


@pytest.mark.parametrize(("first", "second"), [("settle", "release"), ("release", "settle")])
def test_a_stale_page_is_refused_with_who_was_faster(
    sola: User, held: GatedAction, first: str, second: str
) -> None:
    press(browser(person("amy", *ALL)), held, first)
    response = press(browser(sola), held, second)
    assert "Not done: amy" in text(response)
    assert [entry.actor for entry in AuditEntry.objects.all()] == ["staff:amy"]


def test_a_page_of_an_earlier_hold_decides_nothing(sola: User, held: GatedAction) -> None:
    earlier = held.held_at.replace(year=2025).isoformat()
    response = press(browser(sola), held, "release", held_at=earlier)
    assert response.status_code == 409
    assert "not held any more as the page showed it" in text(response)
    assert GatedAction.objects.get().state == "held"


def test_without_a_reason_or_with_what_is_no_json_nothing_happens(sola, held) -> None:
    client = browser(sola)
    for said in ({"reason": " "}, {"body": "{"}, {"body": "NaN"}):
        response = press(client, held, "settle", **said)
        assert response.status_code == 400
        assert "something is missing or does not fit" in text(response)
    with pytest.raises(ReasonMissing):
        gate.release_held(held.pk, held_at=held.held_at, user=sola, reason="")
    assert GatedAction.objects.get().state == "held"


@pytest.mark.parametrize("step", ["settle", "release"])
def test_each_button_needs_its_own_permission(held: GatedAction, step: str) -> None:
    others = [right for right in ALL if not right.startswith(step)]
    client = browser(person("amy", *others))
    assert "You do not have the permission" in text(client.get(f"{LIST}{held.pk}/change/"))
    assert press(client, held, step).status_code == 403
    with pytest.raises(NotPermitted):
        gate.settle_held(held.pk, held_at=held.held_at, user=person("ben"), reason="x")
    assert GatedAction.objects.get().state == "held"
    assert browser(User.objects.create_user("new", is_staff=True)).get(LIST).status_code == 403


def test_nothing_else_can_be_changed_by_anybody(held: GatedAction) -> None:
    root = browser(User.objects.create_superuser("root"))
    assert root.get(f"{LIST}add/").status_code == 403
    assert root.post(f"{LIST}{held.pk}/change/", {"state": "settled"}).status_code == 403
    assert root.post(f"{LIST}{held.pk}/delete/", {"post": "yes"}).status_code == 403
    assert root.get(f"{LIST}{held.pk}/settle/").status_code == 302
    assert GatedAction.objects.get().state == "held"


@pytest.mark.django_db(transaction=True)
def test_ten_clicks_at_once_release_once(sola: User, held: GatedAction) -> None:
    ready = Barrier(10)

    def click(_: int) -> str:
        try:
            client = browser(sola)
            ready.wait(20)
            return text(press(client, held, "release"))
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(click, range(10)))
    assert AuditEntry.objects.count() == 1, "two clicks got through"
    assert sum("whoever asks for it next does it" in answer for answer in answers) == 1


def test_a_hold_that_is_over_is_refused_by_the_service(sola: User, held: GatedAction) -> None:
    gate.settle_held(held.pk, held_at=held.held_at, user=sola, reason="seen", result=None)
    with pytest.raises(HoldOver):
        gate.release_held(held.pk, held_at=held.held_at, user=sola, reason="not seen")
    assert GatedAction.objects.get().state == "settled"


def test_a_result_is_shown_without_numbers_that_nobody_needs_to_see(sola: User) -> None:
    with gate.claim("refund.approve", target="r-9") as action:
        action.settle({"account": "0123456789", "token": "s3cret"})
    page = text(browser(sola).get(f"{LIST}{GatedAction.objects.get().pk}/change/"))
    assert "0123456789" not in page
    assert "s3cret" not in page
    assert "It is never done again." in page


def test_what_runs_and_what_came_to_no_end_say_so(sola: User) -> None:
    client = browser(sola)
    with gate.claim("refund.approve", target="r-3"):
        row = GatedAction.objects.get()
        assert "It is being done since" in text(client.get(f"{LIST}{row.pk}/change/"))
        GatedAction.objects.update(locked_until=timezone.now())
        assert "The next sweep holds it" in text(client.get(f"{LIST}{row.pk}/change/"))
        assert "Came to no end" in text(client.get(LIST))
