"""Money that comes back days later is seen by whoever hears of it first, and booked once (II.19)."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from fulfilment import rounds
from fulfilment.models import Evidence, Fulfilment
from fulfilment.signals import fulfilment_moved
from tests.concurrency.fulfilments import at_once
from tests.connectors.iso20022.payments import Town

pytestmark = [pytest.mark.processes, pytest.mark.long]

HORIZON = timedelta(days=30)


@pytest.fixture
def moves() -> Iterator[list[str]]:
    """The states that others were told of, as they were told."""
    heard: list[str] = []
    lock = threading.Lock()

    def hear(after: str, **_: Any) -> None:
        with lock:
            heard.append(after)

    fulfilment_moved.connect(hear)
    yield heard
    fulfilment_moved.disconnect(hear)


def _paid_and_returned(town: Town) -> Fulfilment:
    town.bank.behave("return-later", days=2)
    row = town.paid()
    town.bank.advance(6)
    return row


def _reversed_once(town: Town, row: Fulfilment, moves: list[str], *, source: str) -> None:
    town.settled(row, "reversed")
    for _ in range(3):
        rounds.whole_round()
    told = dict(town.books.told)
    assert told == {"fulfilled": 1, "reversed": 1}, f"our books were told {told}"
    assert moves.count("reversed") == 1, "whoever listens heard of the return more than once"
    assert moves.count("fulfilled") == 1
    [payment] = town.bank.payments(row.reference)
    assert (payment["status"], town.bank.paid(row.reference)) == ("returned", 1)
    assert town.wire.posted(row.reference) == 1, "what came back was sent again"
    judged = row.transitions.get(after="reversed")
    assert judged.before == "fulfilled", "the payment itself was overwritten"
    said = Evidence.objects.filter(fulfilment=row, finding="reversed")
    assert source in set(said.values_list("source", flat=True))


def test_a_return_is_found_in_the_mailbox_by_those_who_never_ask(
    own_town: Town, moves: list[str]
) -> None:
    row = _paid_and_returned(own_town)
    own_town.reached(mailbox=True)
    _reversed_once(own_town, row, moves, source="statement")
    asked = Evidence.objects.filter(fulfilment=row, finding="reversed", source="lookup")
    assert not asked.exists(), "the bank was asked as well, so the mailbox proves nothing"


def test_a_return_is_found_by_asking_where_no_mailbox_is_fetched(
    own_town: Town, moves: list[str]
) -> None:
    own_town.reached(LATE_REVERSAL_HORIZON=HORIZON)
    row = _paid_and_returned(own_town)
    _reversed_once(own_town, row, moves, source="lookup")


def test_a_return_that_is_found_both_ways_at_once_is_booked_once(
    own_town: Town, moves: list[str]
) -> None:
    own_town.reached(LATE_REVERSAL_HORIZON=HORIZON)
    row = _paid_and_returned(own_town)
    own_town.reached(LATE_REVERSAL_HORIZON=HORIZON, mailbox=True)
    at_once(*[rounds.whole_round] * 4)
    _reversed_once(own_town, row, moves, source="statement")
