"""The shop of "Guard your view" does what the page says."""

import unittest
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from idempotency.testing import expire_lease, record_of, replay
from tests.guides import courier
from tests.guides.conftest import shop

pytestmark = pytest.mark.usefixtures("tables")

LEASED = ["/parcels", "/parcels/async"]


@pytest.fixture
def desk(settings: Any) -> Iterator[courier.Courier]:
    with courier.running() as desk:
        settings.COURIER_URL = desk.url
        yield desk


@pytest.fixture
def ada(db: None) -> Any:
    return get_user_model().objects.create_user("ada")


def send(ada: Any, path: str, key: str | None, **body: Any) -> Any:
    client = Client(headers={} if key is None else {"Idempotency-Key": key})
    client.force_login(ada)
    return client.post(path, body or {"sku": "pen"}, content_type="application/json")


def orders() -> int:
    return shop("models").Order.objects.count()


@pytest.mark.django_db(transaction=True, available_apps=["idempotency", "shop", "ledgerline.bank"])
def test_the_tests_of_the_shop_pass() -> None:
    said = StringIO()
    suite = unittest.defaultTestLoader.loadTestsFromModule(shop("tests"))
    for case in suite:
        for test in case:
            type(test).available_apps = [
                "idempotency",
                "shop",
                "ledgerline.bank",
            ]  # quicker to flush
    result = unittest.TextTestRunner(said).run(suite)
    assert result.testsRun == 4
    assert result.wasSuccessful(), said.getvalue()


@pytest.mark.parametrize("path", LEASED)
def test_a_parcel_is_booked_once_and_replayed(ada: Any, desk: courier.Courier, path: str) -> None:
    answer = replay(lambda: send(ada, path, "k1"), effects=orders)
    assert (answer.status_code, orders(), desk.calls["parcels"]) == (201, 1, 1)


@pytest.mark.parametrize("path", LEASED)
def test_a_lost_answer_is_unknown_and_then_found_by_asking(
    ada: Any, desk: courier.Courier, path: str
) -> None:
    desk.mute = True
    lost = send(ada, path, "k2")
    assert (lost.status_code, lost.json()["code"], orders()) == (202, "outcome_unknown", 0)
    desk.mute = False
    expire_lease(ada, "k2")
    call_command("sweep_idempotency", only=["recovery"], verbosity=0, skip_checks=True)
    found = send(ada, path, "k2")
    assert (found.status_code, found.headers.get("Idempotent-Replayed")) == (201, "true"), (
        "the sweep did not find the parcel that was booked: the retry ran the handler again"
    )
    assert (orders(), desk.calls["parcels"]) == (1, 1), "the parcel was sent for a second time"


@pytest.mark.parametrize("path", LEASED)
def test_a_courier_that_is_not_there_frees_the_key(ada: Any, settings: Any, path: str) -> None:
    with courier.running() as gone:
        settings.COURIER_URL = gone.url
    refused = send(ada, path, "k3")
    assert (refused.status_code, refused.json()["retry"]) == (503, "same_key"), (
        "a connection that was refused is no proof to the shop that nothing happened"
    )
    assert record_of(ada, "k3") is None, "nobody was there, and the key is not free"


def test_the_schema_shows_the_header_of_every_guarded_operation(ada: Any) -> None:
    schema = SchemaGenerator(urlconf="shop.urls").get_schema(request=None, public=True)
    order = schema["paths"]["/orders"]["post"]
    assert [each["name"] for each in order["parameters"]] == ["Idempotency-Key"]
    assert order["x-idempotent"] == {"mode": "atomic", "required": True, "operation": "shop.order"}


def test_a_client_without_keys_is_served_while_it_is_observed(ada: Any, settings: Any) -> None:
    shop("models").Item.objects.create(sku="pen", left=3)
    assert send(ada, "/orders", None, sku="pen", quantity=1).json()["code"] == "key_missing"
    settings.IDEMPOTENCY = settings.IDEMPOTENCY | {"OBSERVE": True}
    for _ in range(2):
        assert send(ada, "/orders", None, sku="pen", quantity=1).status_code == 201
    assert orders() == 2, "a request without a key is to run each time that it is sent"
