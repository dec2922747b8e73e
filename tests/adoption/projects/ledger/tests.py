"""The tests that this shop writes, with the helpers of the app: `manage.py test`."""

from datetime import timedelta

from django.test import TestCase, TransactionTestCase
from shop.models import Invoice, Person

from fulfilment.models import Fulfilment
from fulfilment.testing import (
    assert_books_agree,
    assert_paid_once,
    clean_fulfilments,
    deliver,
    dispatch_now,
    fake_connector,
    killed_at,
    pass_time,
    run_for,
    run_round,
)


class Payouts(TransactionTestCase):
    """A bank that can be believed, and Ada, who is paid."""

    def setUp(self) -> None:
        self.bank = self.enterContext(fake_connector("bank"))
        self.ada = Person.objects.create(username="ada")

    def paid(self, number: str) -> Fulfilment:
        """Somebody pays an invoice of Ada's: her payout waits to be sent."""
        Invoice.objects.create(tenant="north", number=number, owner=self.ada, amount=700)
        deliver("bank", self.bank.event("payment.succeeded", reference=number, amount=700))
        return Fulfilment.objects.get(payment_id=f"invoice:{number}")

    def state(self, number: str) -> str:
        return Invoice.objects.get(number=number).state


class PayoutTests(Payouts, TestCase):
    def test_a_paid_invoice_is_paid_out_once(self) -> None:
        payout = self.paid("i1")
        run_round()
        assert_paid_once(self.bank, payout)
        assert self.state("i1") == "paid out"

    def test_a_payout_that_the_bank_declines_is_given_up(self) -> None:
        self.bank.on_send("declined")
        self.paid("i2")
        run_round()
        assert self.state("i2") == "given up"
        assert_books_agree(self.bank)

    def test_a_lost_answer_is_no_guess_and_is_found_by_asking(self) -> None:
        self.bank.on_send("answer_lost")
        payout = self.paid("i3")
        dispatch_now()
        assert self.state("i3") == "open"
        run_for(timedelta(minutes=5))
        assert self.state("i3") == "paid out"
        assert_paid_once(self.bank, payout)


class KilledTests(Payouts):
    """Another process sees only what is committed."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(clean_fulfilments)  # what nobody may delete, so Django can flush the rest

    def test_a_worker_that_is_killed_pays_nothing_twice(self) -> None:
        payout = self.paid("i4")
        killed_at("dispatch.answered", dispatch_now)
        pass_time(timedelta(minutes=1))
        run_round()
        self.bank.report(payout.reference)
        run_round()
        assert self.state("i4") == "paid out"
        assert_paid_once(self.bank, payout)
