"""Any order of requests, crashes, expiries, takeovers, late finishers and verdicts, on the pure contract."""

from tests.machine.leased import LeasedLife
from tests.machine.runs import some

TestLeasedLife = LeasedLife.TestCase
TestLeasedLife.settings = some(examples=400, steps=40)
