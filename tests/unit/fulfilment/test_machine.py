"""Any order of losses, delays, repeats, crashes and verdicts: one effect at most, and no guess."""

import pytest

from tests.machine.payments import PaymentLife
from tests.machine.runs import some

TestPaymentLife = PaymentLife.TestCase
TestPaymentLife.settings = some(examples=60, steps=40)


class LongerLife(PaymentLife):
    """More lives, and longer ones."""


TestLongerLife = pytest.mark.long(LongerLife.TestCase)
TestLongerLife.settings = some(examples=300, steps=60)
