"""The tests that this shop writes, with the helpers of the app: `manage.py test`."""

import base64
import json
from functools import partial

from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client, TransactionTestCase
from shop.models import Order

from idempotency import trail
from idempotency.testing import at_once, clean_keys, killed_at, record_of, replay


class OrderTests(TransactionTestCase):
    def setUp(self) -> None:
        self.ada = get_user_model().objects.create_user("ada", password="pw")

        self.addCleanup(clean_keys)  # of what nobody may delete, so that Django can flush the rest

    def order(self, key: str, amount: int = 5) -> HttpResponse:
        basic = base64.b64encode(b"ada:pw").decode()
        client = Client(headers={"Authorization": f"Basic {basic}", "Idempotency-Key": key})
        body = json.dumps({"amount": amount})
        return client.post("/orders", body, content_type="application/json")

    def test_an_order_is_placed_once(self) -> None:
        replay(partial(self.order, "k1"), effects=Order.objects.count)

    def test_an_order_is_placed_once_by_many_at_once(self) -> None:
        at_once(partial(self.order, "k2"), times=4, effects=Order.objects.count)

    def test_an_order_survives_a_process_that_is_killed(self) -> None:
        killed_at("atomic.written", partial(self.order, "k3"))
        assert Order.objects.count() == 0
        assert self.order("k3").status_code == 201
        assert Order.objects.count() == 1

    def test_a_refusal_is_on_record_of_its_user(self) -> None:
        assert self.order("k4", amount=2000).status_code == 400
        record = record_of(self.ada, "k4")
        assert record is not None
        assert record.answer is not None
        assert record.answer.status == 400

    def test_what_is_append_only_does_not_stop_the_tests(self) -> None:
        trail.note(actor="staff:bola", action="released", subject="key:1:k5", reason="a test")
