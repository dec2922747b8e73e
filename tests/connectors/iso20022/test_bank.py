"""What the real bank answers and what it puts into the mailbox, in our words."""

from datetime import timedelta
from pathlib import Path

import pytest

from fulfilment.connectors.base import Accepted, Done, Instruction, NoInformation, Reversed, Unknown
from fulfilment.connectors.iso20022 import Iso20022Connector
from fulfilment.reconcile.evidence import Finding
from tests.connectors.iso20022.bank import CREDITOR, running

pytestmark = pytest.mark.processes

OURS = "0123456789abcdef0123456789abcdef"
ORDER = Instruction(
    reference=OURS,
    amount=10_50,
    currency="EUR",
    instruction={"account": CREDITOR, "name": "Ada"},
    deadline=timedelta(seconds=10),
)


def test_a_file_sent_again_is_paid_once_and_a_return_is_found_and_fetched(tmp_path: Path) -> None:
    with running(tmp_path) as bank:
        bank.behave("return-later", days=2)
        connector = Iso20022Connector(bank.settings(bank.url))
        assert isinstance(connector.send(ORDER), Accepted)
        assert isinstance(connector.send(ORDER), Unknown), "a second copy was not looked up"
        assert len(bank.payments(OURS)) == 1, "the bank has two payments: MsgId is not ours"
        assert isinstance(connector.look_up(OURS), Done)
        bank.advance(6)
        assert isinstance(connector.look_up(OURS), Reversed)
        letters = connector.mailbox.letters()
    assert not isinstance(letters, NoInformation)
    read = [
        connector.mailbox.read(body) for each in letters for body in connector.mailbox.events(each)
    ]
    said = [event for event in read if event.reference == OURS]
    assert {event.finding for event in said} >= {Finding.DONE, Finding.REVERSED}
    assert Finding.NOT_DONE not in {event.finding for event in said}, "the second copy was believed"
    facts = {(e.amount, e.currency) for e in said if e.conclusive}
    assert facts == {(10_50, "EUR")}, "a fact of the mailbox names another amount"
