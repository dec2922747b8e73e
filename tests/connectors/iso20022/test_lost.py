"""A request or an answer that is lost or late on the way to the bank (II.8, II.9, II.10; C070)."""

import socket
import struct
import threading
from datetime import timedelta

import pytest

from fulfilment.dispatch import attempt
from fulfilment.models import Evidence, Fulfilment
from tests.connectors.iso20022.payments import DEADLINE, SETTLING, Town, until
from tests.connectors.servers import raw_server, unused_url
from tests.integration.fulfilment.support import now, path

pytestmark = [pytest.mark.processes]


def _answers(row: Fulfilment) -> list[str]:
    """What the bank said when it was asked, oldest first."""
    asked = Evidence.objects.filter(fulfilment=row, source="lookup").order_by("id")
    return list(asked.values_list("finding", flat=True))


def test_a_lost_answer_is_neither_a_failure_nor_a_second_payment(town: Town) -> None:
    town.wire.lose_answers()
    row = town.sent()
    assert row.state == "needs_reconciliation", "a lost answer was taken for an outcome"
    assert town.bank.paid(row.reference) == 1, "the request was lost, so nothing is proved"
    town.wire.heal()
    town.settled(row)
    town.paid_once(row)
    assert path(row) == ["pending", "dispatching", "needs_reconciliation", "fulfilled"]
    assert town.wire.posted(row.reference) == 1, "it was sent again before the bank was asked"


@pytest.mark.long
def test_a_lost_request_is_sent_again_only_when_not_found_is_a_fact_and_is_paid_once(
    town: Town,
) -> None:
    town.paid()  # the canary: without one that is found, not found says nothing
    before = len(town.bank.files())
    town.wire.lose_requests()
    row = town.sent()
    assert (row.state, town.bank.payments(row.reference)) == ("needs_reconciliation", [])
    town.wire.heal()
    town.settled(row)
    town.paid_once(row)
    first, second = row.attempts.order_by("number")
    not_found = Evidence.objects.filter(fulfilment=row, finding="not_found", canary=True)
    agreeing = not_found.filter(recorded_at__lt=second.claimed_at).order_by("recorded_at")
    assert agreeing.count() >= 3, "it was sent again before three answers agreed"
    settled_at = max(first.sent_at + 2 * DEADLINE, first.lease_until + DEADLINE)
    last = agreeing.last()
    assert last is not None
    assert last.recorded_at >= settled_at, "asked too early: the request could still have arrived"
    assert town.wire.posted(row.reference) == 2, "not the same reference was sent again"
    assert len(town.bank.files()) - before == 1, "the bank has had another file than the second"


@pytest.mark.long
def test_a_lost_request_is_never_sent_again_where_no_other_payment_is_found(town: Town) -> None:
    """The same answers from a bank whose address or account is the wrong one."""
    town.wire.lose_requests()
    row = town.sent()
    town.wire.heal()
    until(lambda: _answers(row).count("not_found") >= 12, what="the bank to be asked for long")
    assert row.attempts.count() == 1, "not found was taken for a fact without a canary"
    assert now(row).state == "needs_reconciliation"


@pytest.mark.long
def test_a_slow_request_that_is_not_found_at_first_is_found_later_and_paid_once(
    town: Town,
) -> None:
    town.paid()  # with a canary, so that nothing but time keeps it from being sent again
    town.reached(NOT_FOUND_FINAL_AFTER=SETTLING)
    town.wire.slow_requests(2 * DEADLINE.total_seconds())
    row = town.sent()
    town.wire.heal()  # for the questions; the request is on its way
    assert row.state == "needs_reconciliation", "a late answer was taken for an outcome"
    town.settled(row)
    town.paid_once(row)
    assert _answers(row)[0] == "not_found", "it was there at once, so nothing is proved"
    assert row.attempts.count() == 1, "a request that was under way was sent again"
    assert "pending" not in path(row)[1:], "it was taken for not sent"


def _reset(caller: socket.socket, over: threading.Event) -> None:
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _hang(caller: socket.socket, over: threading.Event) -> None:
    over.wait(20)


@pytest.mark.parametrize("fault", [_hang, _reset], ids=["hangs", "resets"])
def test_a_bank_that_hangs_up_or_says_nothing_is_asked_and_the_payment_does_not_fail(
    fault: object, town: Town
) -> None:
    with raw_server(fault) as url:  # type: ignore[arg-type]
        town.reached(url=url)
        row = town.sent()
    assert row.state == "needs_reconciliation", "nobody knows whether it arrived"
    assert row.attempts.get().outcome == "unknown"
    assert not town.books.told, "an outcome was told of which nobody knows"


@pytest.mark.parametrize("where", ["refused", "no such name"])
def test_a_bank_that_cannot_be_reached_has_not_got_the_payment_and_gets_it_later(
    where: str, town: Town
) -> None:
    town.reached(url=unused_url() if where == "refused" else "http://bank.invalid:8090")
    row = town.sent()
    assert (row.state, row.refusals) == ("pending", 1), "what never left us is a doubt now"
    assert row.next_check_at > row.state_changed_at + timedelta(seconds=0.1), "without a pause"
    town.reached()
    Fulfilment.objects.filter(pk=row.pk).update(next_check_at=row.state_changed_at)
    attempt.run(row.pk)
    town.settled(row)
    town.paid_once(row)
    assert town.wire.posted(row.reference) == 1
