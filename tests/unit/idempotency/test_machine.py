"""Any order of requests, crashes, expiries, takeovers, late finishers and verdicts, on the pure contract."""

import pytest

from tests.machine.leased import LeasedLife
from tests.machine.runs import some


class TestLeasedLife(LeasedLife.TestCase):
    settings = some(examples=120, steps=40)


@pytest.mark.long
class TestManyLeasedLives(LeasedLife.TestCase):
    settings = some(examples=400, steps=40)
