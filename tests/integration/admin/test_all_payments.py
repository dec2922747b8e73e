"""All payments in every state: to find and to look at."""

import pytest

from fulfilment.models import Evidence, Finding
from fulfilment.states import State
from tests.integration.admin import cast, pages

LIST = "/admin/fulfilment/fulfilment/"


@pytest.fixture
def client(browser, senior):
    return browser(senior)


def listed(response):
    return [row.pk for row in response.context_data["cl"].result_list]


def test_every_state_is_listed_newest_first_and_named_in_words(client):
    rows = [cast.payment(), cast.unknown()]
    rows.append(cast.moved(cast.unknown(), State.FULFILLED, reason="done"))
    response = client.get(LIST)
    assert listed(response) == [row.pk for row in reversed(rows)]
    read = pages.text(response)
    for words in ("Waiting to be sent", "Unknown", "Paid out"):
        assert words in read, f"no state is called {words}"


def test_the_list_is_narrowed_by_state_and_by_open_case(client):
    waiting, unknown = cast.payment(), cast.unknown()
    cast.case(unknown)
    assert listed(client.get(LIST + "?state=pending")) == [waiting.pk]
    assert listed(client.get(LIST + "?case=open")) == [unknown.pk]


def test_a_state_that_does_not_exist_lists_nothing(client):
    cast.payment()
    assert listed(client.get(LIST + "?state=lost")) == []


def test_its_page_only_shows_and_points_to_the_case(client):
    row = cast.unknown()
    response = client.get(f"{LIST}{row.pk}/change/")
    content = response.content.decode()
    assert f'href="{pages.case(row)}"' in content
    assert content.count("<form") == 1, "the page has a form besides the one that logs out"
    assert "Timeline" in pages.text(response)


def test_its_history_is_the_timeline(client):
    row = cast.unknown()
    assert client.get(f"{LIST}{row.pk}/history/").headers["Location"].endswith("#timeline")


@pytest.mark.parametrize("finding", list(Finding))
def test_whatever_a_provider_may_say_has_a_page(client, finding):
    row = cast.unknown()
    cast.said(row, finding, conclusive=finding in ("done", "not_done", "reversed"))
    assert client.get(pages.case(row)).status_code == 200
    assert Evidence.objects.filter(fulfilment=row).count() == 2


def test_a_payment_whose_connector_is_gone_can_still_be_read(client, settings):
    row = cast.unknown()
    settings.FULFILMENT = settings.FULFILMENT | {"CONNECTORS": {}}
    assert "Sandbox is not configured any more." in pages.text(client.get(pages.case(row)))
