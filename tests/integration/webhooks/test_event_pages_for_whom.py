"""Who may see what providers told us, and do something about it; nobody edits it by hand."""

import pytest
from django.test import Client

from fulfilment.models import ProviderEvent, ProviderEventAction
from tests.integration.admin import pages
from tests.integration.admin.test_browser_rules import INLINE
from tests.integration.fulfilment.support import staff
from tests.integration.webhooks.support import stored
from tests.integration.webhooks.test_event_pages import (
    LIST,
    LOOK,
    button,
    page,
    signed_in,
)
from tests.integration.webhooks.test_replays import dead, later

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent() -> Client:
    return signed_in(*LOOK, "replay_event")


@pytest.mark.parametrize("superuser", [False, True])
def test_without_the_permission_the_buttons_say_why_and_a_hand_made_post_changes_nothing(
    settings, superuser: bool
) -> None:
    body, client = dead(settings), signed_in(*LOOK, superuser=superuser)
    later()
    read = pages.text(client.get(page(body)))
    assert "You do not have the permission “Can apply an event again, or set it aside”" in read
    assert client.post(button(body, "replay"), {"seen": 0}).status_code == 403
    assert client.post(button(body, "set_aside"), {"seen": 0, "note": "x"}).status_code == 403
    assert "apply_again" not in client.get(LIST).content.decode()
    client.post(LIST, {"action": "apply_again", "_selected_action": [stored(body).pk]})
    assert (stored(body).status, ProviderEventAction.objects.count()) == ("dead", 0)


def test_who_may_not_see_events_sees_none(settings) -> None:
    body, client = dead(settings), signed_in("replay_event")
    for address in (LIST, page(body), button(body, "replay")):
        assert client.get(address).status_code == 403
    assert client.post(button(body, "replay"), {"seen": 0}).status_code == 403
    assert "/admin/login/" in Client().get(page(body)).headers["Location"]


def test_nothing_is_added_edited_or_deleted_by_hand(settings) -> None:
    body, client = dead(settings), signed_in(superuser=True)
    for path in ("add/", f"{stored(body).pk}/delete/"):
        assert client.post(LIST + path, {"post": "yes"}).status_code == 403
    assert client.post(page(body), {"status": "applied"}).status_code == 405
    form = {"action": "delete_selected", "_selected_action": [stored(body).pk], "post": "yes"}
    client.post(LIST, form)
    assert ProviderEvent.objects.filter(status="dead").count() == 1


@pytest.mark.parametrize("name", ["999999999", "x", "1e3", "9" * 40])
def test_an_event_that_does_not_exist_is_not_found(agent, name: str) -> None:
    assert agent.get(f"{LIST}{name}/change/").status_code == 404


def test_a_post_without_a_csrf_token_is_refused(settings) -> None:
    body = dead(settings)
    client = Client(enforce_csrf_checks=True)
    client.force_login(staff("agent", *LOOK, "replay_event"))
    assert client.post(button(body, "replay"), {"seen": 0}).status_code == 403
    assert stored(body).status == "dead"


def test_no_page_carries_inline_code_and_markup_is_shown_as_text(settings, agent) -> None:
    body = dead(settings, note="<script>alert(1)</script>")
    for address in (LIST, LIST + "?status=all", page(body)):
        answer = agent.get(address)
        content = answer.content.decode()
        assert INLINE.search(content) is None, f"{address} has inline code"
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "&lt;script&gt;alert(1)" in content
