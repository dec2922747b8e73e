"""What a guarded view has to survive. Real threads, a real `kill -9`: so rows must be committed."""

from functools import partial

from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client, TransactionTestCase

from idempotency.testing import at_once, clean_keys, killed_at, replay

from .models import Item, Order


class OrderTests(TransactionTestCase):
    def setUp(self) -> None:
        self.ada = get_user_model().objects.create_user("ada")
        Item.objects.create(sku="pen", left=3)
        self.addCleanup(clean_keys)

    def order(self, key: str, quantity: int = 1) -> HttpResponse:
        client = Client(headers={"Idempotency-Key": key})
        client.force_login(self.ada)
        body = {"sku": "pen", "quantity": quantity}
        return client.post("/orders", body, content_type="application/json")

    def test_an_order_that_is_sent_again_is_one_order(self) -> None:
        replay(partial(self.order, "k1"), effects=Order.objects.count)

    def test_an_order_that_is_sent_four_times_at_once_is_one_order(self) -> None:
        at_once(partial(self.order, "k2"), times=4, effects=Order.objects.count)

    def test_an_order_that_its_process_did_not_survive_can_be_sent_again(self) -> None:
        killed_at("atomic.written", partial(self.order, "k3"))
        self.assertEqual(Order.objects.count(), 0)
        self.assertEqual(self.order("k3").status_code, 201)

    def test_a_refusal_leaves_nothing_and_is_the_answer_for_good(self) -> None:
        replay(partial(self.order, "k4", quantity=9), effects=Order.objects.count)
        Item.objects.update(left=100)
        self.assertEqual(self.order("k4", quantity=9).json()["code"], "sold_out")
        self.assertEqual(Order.objects.count(), 0)
