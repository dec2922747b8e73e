"""For the tests of a project whose payments go out by `fulfilment`: a fake that can be believed.

    from fulfilment.testing import assert_paid_once, dispatch_now, fake_connector, run_for

    def test_a_lost_answer_pays_once(self):
        with fake_connector("bank") as bank:
            bank.on_send("answer_lost")
            payout = fulfilment.start(connector="bank", …)
            dispatch_now()
            run_for(timedelta(hours=1))
            assert_paid_once(bank, payout)

The fake's books are a file: what it paid stays paid when a transaction is rolled back or a process
is killed. `FakeConnector` is the same as a connector for settings, where several processes need
it: `{"CLASS": "fulfilment.testing.FakeConnector", "BOOKS": path}`, and `FakeProvider(path)` holds
it. With pytest, `pytest_plugins = ["fulfilment.testing.fixtures"]` brings `fake_connectors`;
nothing else here needs pytest. What runs threads or processes needs rows that are committed:
`TransactionTestCase`, or `@pytest.mark.django_db(transaction=True)`; and it ends with
`clean_fulfilments`, because nobody else may delete what is on record.
"""

from fulfilment.checkpoints import POINTS
from fulfilment.rounds import Round
from fulfilment.testing.assertions import assert_books_agree, assert_nothing_paid, assert_paid_once
from fulfilment.testing.cleaning import clean_fulfilments
from fulfilment.testing.connector import PROMISES, FakeConnector
from fulfilment.testing.deliveries import deliver, sign
from fulfilment.testing.passing import dispatch_now, make_due, pass_time, run_for, run_round
from fulfilment.testing.processes import frozen_at, killed_at
from fulfilment.testing.provider import Call, FakeProvider, Payment
from fulfilment.testing.registering import fake_connector
from fulfilment.testing.script import LookUpWord, SendWord

__all__ = [
    "POINTS",
    "PROMISES",
    "Call",
    "FakeConnector",
    "FakeProvider",
    "LookUpWord",
    "Payment",
    "Round",
    "SendWord",
    "assert_books_agree",
    "assert_nothing_paid",
    "assert_paid_once",
    "clean_fulfilments",
    "deliver",
    "dispatch_now",
    "fake_connector",
    "frozen_at",
    "killed_at",
    "make_due",
    "pass_time",
    "run_for",
    "run_round",
    "sign",
]
