"""Names that people know: whose a key is, what was asked for, what an entry of the trail is about."""

import pytest
from django.test import Client

from idempotency import trail
from idempotency.admin import columns, people
from idempotency.models import GatedAction
from tests.integration.keys import cast

pytestmark = pytest.mark.django_db
TRAIL = "/admin/idempotency/auditentry/"


def page_of(client: Client, row: object) -> str:
    found = client.get(cast.address(row))
    assert found.status_code == 200
    return found.content.decode()


def test_a_key_names_its_user(senior: Client) -> None:
    ada = cast.person("ada")
    assert f"ada ({ada.pk})" in page_of(senior, cast.row(user_id=ada.pk))
    assert people.named(cast.ADA) == str(cast.ADA), "a key whose user is gone has no page"


def test_an_operation_is_named_without_its_modules(senior: Client) -> None:
    row = cast.row(operation="shop.api.orders.Orders.post")
    page = page_of(senior, row)
    assert "<h1>Orders.post " in page
    assert "shop.api.orders.Orders.post" in page, "the whole name stands nowhere"
    listed = senior.get(cast.LIST).content.decode()
    assert ">Orders.post<" in listed
    assert columns.short("desk.order") == "desk.order"


def test_an_entry_of_the_trail_leads_to_what_it_is_about(senior: Client) -> None:
    row = cast.row(key="k/1:<b>")
    trail.note(actor="staff:amy", action="asked", subject=trail.key_subject(row.user_id, row.key))
    listed = senior.get(TRAIL).content.decode()
    assert 'href="/admin/idempotency/keylisting/' in listed
    assert "key k/1:&lt;b&gt;" in listed
    slot = "claim_" + "0" * 24
    trail.note(actor="staff:amy", action="settled", subject=trail.action_subject(slot))
    trail.note(actor="staff:amy", action="met", subject="something else")
    listed = senior.get(TRAIL).content.decode()
    assert f"/admin/idempotency/gatedaction/?q={slot}" in listed
    assert ">something else<" in listed
    assert not GatedAction.objects.exists()
    assert "said that it happened" in listed, "an action is told in the words of a key"
    assert "3 entries" in listed


def test_whoever_opens_an_answer_is_asked_what_for(senior: Client) -> None:
    page = page_of(senior, cast.answered())
    assert "What you need it for" in page
    assert "What you rely on" not in page
