"""The shop of "Guard your action" does what the page says."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import IntegrityError, connections, transaction
from django.test import Client

from idempotency import OutcomeUnknown, gate
from idempotency.models import GatedAction
from tests.guides import courier
from tests.guides.conftest import shop

pytestmark = pytest.mark.usefixtures("tables")


@pytest.fixture
def desk(settings: Any) -> Iterator[courier.Courier]:
    with courier.running() as desk:
        settings.COURIER_URL = desk.url
        yield desk


@pytest.fixture
def order(db: None) -> Any:
    return shop("models").Order.objects.create(sku="pen", parcel="P-1")


def left(sku: str = "pen") -> int:
    return shop("models").Item.objects.get(sku=sku).left


def test_function_task_and_button_are_one_action(desk: courier.Courier, order: Any) -> None:
    first = shop("recalls").recall(order)
    assert shop("tasks").recall.apply(args=[order.pk]).get() == first == {"recalled": "P-1"}
    assert "called back" in _click(order)
    assert desk.calls["recalls"] == 1, "the courier was called for each of them"


def _click(order: Any) -> str:
    staff = get_user_model().objects.create_superuser("staff")
    client = Client()
    client.force_login(staff)
    form = {"action": "recall_parcels", "_selected_action": order.pk}
    return client.post("/admin/shop/order/", form, follow=True).content.decode()


def test_what_nobody_knows_is_held_and_not_called_again(desk: courier.Courier, order: Any) -> None:
    desk.mute = True
    with pytest.raises(OutcomeUnknown):
        shop("recalls").recall(order)
    desk.mute = False
    with pytest.raises(gate.Held):
        shop("recalls").recall(order)
    assert "has to find out" in _click(order)
    assert desk.calls["recalls"] == 1


def test_where_nothing_was_done_the_next_caller_may(desk: courier.Courier, order: Any) -> None:
    order.parcel = ""
    assert shop("recalls").recall(order) is None
    assert not GatedAction.objects.exists()
    order.parcel = "P-1"
    assert shop("recalls").recall(order) == {"recalled": "P-1"}


def test_the_shelves_are_filled_once_a_day(db: None) -> None:
    shop("models").Item.objects.create(sku="pen", left=1)
    for day in ("2026-11-30", "2026-11-30", "2026-12-01"):
        said = StringIO()
        call_command("restock", day, stdout=said, skip_checks=True)
        assert said.getvalue() == "1 items restocked\n"
    assert left() == 21, "the second start of a day did the work again"


def test_each_scan_counts_once_and_a_changed_one_is_a_conflict(db: None) -> None:
    for sku in ("pen", "ink"):
        shop("models").Item.objects.create(sku=sku, left=5)
    count = shop("scans").count
    scans = [{"id": "s1", "sku": "pen"}, {"id": "s2", "sku": "pen"}]
    assert count(scans, till="a") == ["recorded", "recorded"]
    again = [*scans, {"id": "s1", "sku": "ink"}, {"id": "s3", "sku": "pen"}]
    assert count(again, till="a") == ["deduplicated", "deduplicated", "conflict", "recorded"]
    assert count(scans[:1], till="b") == ["recorded"]
    assert (left("pen"), left("ink")) == (1, 5)


@pytest.mark.django_db(transaction=True, available_apps=["idempotency", "shop"])
def test_two_callers_at_once_call_the_courier_once(desk: courier.Courier) -> None:
    order = shop("models").Order.objects.create(sku="pen", parcel="P-1")
    barrier = threading.Barrier(4)

    def one(_: int) -> Any:
        try:
            barrier.wait(10)
            return shop("recalls").recall(order)
        except gate.InProgress:
            return None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(one, range(4)))
    assert {"recalled": "P-1"} in told
    assert desk.calls["recalls"] == 1, f"the gate let several through: {told}"


def test_a_place_without_a_branch_is_one_place(db: None) -> None:
    place = shop("models").Place
    place.objects.create(shelf="a", sku="pen")
    with pytest.raises(IntegrityError, match="place_taken"), transaction.atomic():
        place.objects.create(shelf="a", sku="ink")
