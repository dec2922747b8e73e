"""Payments to the bank through the whole machine: real rows, the real connector, short times."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from fulfilment import rounds
from fulfilment.dispatch import attempt
from fulfilment.models import Fulfilment
from fulfilment.states import State
from fulfilment.transitions import move
from tests.connectors.iso20022.bank import CREDITOR, MockBank
from tests.connectors.iso20022.wires import Wire
from tests.integration.fulfilment.support import Books, now, start

DEADLINE = timedelta(seconds=1)
SETTLING = timedelta(seconds=4)
BOUND = 40.0  # a busy machine included
NAME = "iso20022"
TIMES: dict[str, Any] = {
    "LEASE": timedelta(seconds=3),  # a machine that is busy between claim and call included
    "TOTAL_DEADLINE": DEADLINE,
    "MARGIN": timedelta(seconds=0.3),
    "SCHEDULE": (timedelta(seconds=0.1), timedelta(seconds=0.1), timedelta(seconds=0.3)),
    "JITTER": 0.0,
    "LOOKUPS_PER_SECOND": 1000.0,
    "BACKOFF_FIRST": timedelta(seconds=0.2),
    "BACKOFF_LAST": timedelta(seconds=0.4),
    "MAILBOX_EVERY": timedelta(seconds=0.1),
    "WATCH_EVERY": timedelta(seconds=0.2),
    "HINT": None,
    "EVENT_HINT": None,
}
PROMISES: dict[str, Any] = {
    "VISIBLE_AFTER": timedelta(seconds=0.1),
    "NOT_FOUND_FINAL_AFTER": timedelta(seconds=0.5),
    "LATE_REVERSAL_HORIZON": None,
}


class Town:
    """A bank, the wire to it, and what the outcomes did to our own books."""

    def __init__(self, bank: MockBank, wire: Wire, books: Books, settings: Any) -> None:
        self.bank, self.wire, self.books, self._settings = bank, wire, books, settings
        self.reached()

    def reached(self, *, url: str = "", mailbox: bool = False, **promises: Any) -> None:
        """How the connector reaches the bank from now on, and what it promises of it."""
        given = self.bank.settings(url or self.wire.url, **(PROMISES | promises))
        self._settings.FULFILMENT = TIMES | {
            "CONNECTORS": {NAME: given},
            "WEBHOOKS": {NAME: {"CONNECTOR": NAME}} if mailbox else {},
        }

    def pay(self, amount: int = 10_50) -> Fulfilment:
        """Ordered; nobody has sent it yet."""
        instruction = {"account": CREDITOR, "name": "Ada", "narration": "INV-1"}
        return start(connector=NAME, amount=amount, currency="EUR", instruction=instruction)

    def sent(self) -> Fulfilment:
        """Ordered, and sent once by whatever the wire is like."""
        row = self.pay()
        attempt.run(row.pk)
        return now(row)

    def paid(self) -> Fulfilment:
        """Ordered and paid: a reference that the bank knows."""
        return self.settled(self.sent())

    def settled(self, row: Fulfilment, state: str = "fulfilled") -> Fulfilment:
        """By the machine's own rounds."""
        until(lambda: now(row).state == state, what=f"{row.reference} to be {state}")
        return now(row)

    def paid_once(self, row: Fulfilment) -> None:
        """By the bank's books, and by ours."""
        assert len(self.bank.payments(row.reference)) == 1, "the bank has not one payment"
        assert self.bank.paid(row.reference) == 1, "the bank paid it more than once, or never"
        assert self.books.told["fulfilled"] >= 1, "our books never heard that it was paid"
        assert not self.books.told["failed"], "our books were told that it failed"


def until(condition: Callable[[], bool], *, what: str) -> None:
    """Whole rounds, one after the other, until it is so."""
    end = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < end, f"waited {BOUND:g} s in vain for {what}"
        rounds.whole_round()
        time.sleep(0.02)


def send_again(row: Fulfilment) -> None:
    """Forced, by somebody who did not ask the bank first."""
    again = now(row)
    moved = move(
        again,
        to=State.PENDING,
        actor="test",
        reason="forced",
        next_check_at=again.state_changed_at,
    )
    assert moved is not None
