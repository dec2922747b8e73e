"""What the real bank answers and what it puts into the mailbox, in our words."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fulfilment.connectors.base import Accepted, Done, Instruction, NoInformation, Reversed, Unknown
from fulfilment.connectors.iso20022 import Iso20022Connector, pain001
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


def test_two_payments_under_our_reference_are_not_ours_and_go_to_a_person(tmp_path: Path) -> None:
    """The bank pays the same end-to-end id again if it comes in another file: only it can tell."""
    with running(tmp_path) as bank:
        connector = Iso20022Connector(bank.settings(bank.url))
        connector.send(ORDER)
        file = pain001.written(ORDER, debtor=connector._debtor, at=datetime.now(UTC))
        connector._bank.post(
            file.replace(f"<MsgId>{OURS}".encode(), f"<MsgId>{OURS[::-1]}".encode()),
            deadline=ORDER.deadline,
        )
        assert len(bank.payments(OURS)) == 2
        found = connector.look_up(OURS)
    assert isinstance(found, Done)
    assert found.amount == 2 * ORDER.amount, "one of two payments was shown as if it were alone"
