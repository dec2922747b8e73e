"""The helpers for adopters' tests: they pass where all is well, and name what is wrong."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import override_settings

import fulfilment
from fulfilment.connectors import registry
from fulfilment.connectors.base import Dedupe
from fulfilment.dispatch import attempt
from fulfilment.models import Attempt, Case, Fulfilment, ProviderEvent
from fulfilment.states import State
from fulfilment.testing import (
    POINTS,
    PROMISES,
    FakeProvider,
    assert_books_agree,
    assert_nothing_paid,
    assert_paid_once,
    deliver,
    dispatch_now,
    fake_connector,
    make_due,
    pass_time,
    run_for,
    run_round,
    sign,
)
from tests.integration.fulfilment.faked import bank, order, sent, start
from tests.integration.fulfilment.support import now, path
from tests.integration.fulfilment.walk import step

__all__ = ["bank"]

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("word", ["answer_lost", "request_lost", "raises", "not_sent", "refused"])
def test_whatever_is_lost_is_paid_once_in_the_end(bank: FakeProvider, word: str) -> None:
    assert sent(bank).state == "fulfilled"  # found by every look-up: the canary
    row = sent(bank, word)
    run_for(HOUR * 3)
    assert now(row).state == "fulfilled"
    assert assert_paid_once(bank, row).amount == row.amount
    assert_books_agree(bank)


def test_time_that_passes_settles_nothing_that_nobody_knows(bank: FakeProvider) -> None:
    row = sent(bank, "request_lost")  # no canary: not found proves nothing
    pass_time(timedelta(hours=25))
    run_round()
    assert now(row).state == "needs_reconciliation"
    assert Case.objects.get().reason == "deadline"
    assert_nothing_paid(bank, row)
    bank.pay(row.reference)  # it was under way all the time
    bank.report(row.reference)
    assert ProviderEvent.objects.get().applied_at is None, "delivered is not applied"
    assert run_round().applied == 1
    assert now(row).state == "fulfilled"
    assert_paid_once(bank, row)


def test_what_was_paid_stays_paid_when_our_transaction_is_undone(bank: FakeProvider) -> None:
    with transaction.atomic():
        row = start()
        registry.build("bank").send(order(row.reference))
        transaction.set_rollback(True)
    with pytest.raises(AssertionError, match=f"{row.reference} was paid, and no fulfilment has it"):
        assert_books_agree(bank)


def test_an_event_is_delivered_through_the_real_address(bank: FakeProvider) -> None:
    body = bank.event("transfer.succeeded", reference="nobody knows it")
    assert deliver("bank", body).content == b""
    assert deliver("bank", body, headers={}, status=401).status_code == 401
    forged = sign(body, secret="whsec_" + "b" * 32)
    with pytest.raises(AssertionError, match="401 instead of 200: signature_refused: No signature"):
        deliver("bank", body, headers=forged)
    with pytest.raises(AssertionError, match="400 instead of 200: event_malformed"):
        deliver("bank", b"{}")
    with (
        override_settings(ROOT_URLCONF="tests.integration.idempotency.urls"),
        pytest.raises(AssertionError, match="no address takes events"),
    ):
        deliver("bank", body)


def test_money_that_moved_otherwise_is_named(bank: FakeProvider) -> None:
    row = start()
    with pytest.raises(AssertionError, match=r"was never sent\. Is it due"):
        assert_paid_once(bank, row)
    bank.on_send("refused")
    dispatch_now()
    with pytest.raises(AssertionError, match="sent 1 times, and the answers were Refused"):
        assert_paid_once(bank, row)
    make_due(row)
    dispatch_now()
    with pytest.raises(AssertionError, match=f"bank has paid 1 times: {row.reference}"):
        assert_nothing_paid(bank)


def test_money_that_is_paid_twice_is_named() -> None:
    with fake_connector("bank", capabilities=replace(PROMISES, dedupe=Dedupe.NONE)) as bank:
        row = sent(bank)
        attempt.send(claimed(row))  # as a worker would that takes a message for a fact
        with pytest.raises(AssertionError, match=r"paid 2 times.*does not know its references"):
            assert_paid_once(bank, row)
        with pytest.raises(AssertionError, match="is fulfilled and was paid 2 times"):
            assert_books_agree(bank)


@pytest.mark.parametrize(
    ("word", "state", "complaint"),
    [
        ("request_lost", State.FULFILLED, "is fulfilled, and nothing was paid"),
        ("answer_lost", State.FAILED, "is failed, and it was paid"),
    ],
)
def test_a_verdict_that_is_not_true_is_named(
    bank: FakeProvider, word: str, state: State, complaint: str
) -> None:
    row = sent(bank, word)
    pass_time(timedelta(minutes=1))
    step(now(row), state)  # on a word that is not true
    with pytest.raises(AssertionError, match=complaint):
        assert_books_agree(bank)


def test_another_amount_than_ours_is_named(bank: FakeProvider) -> None:
    row = sent(bank, "request_lost")
    bank.pay(row.reference, amount=1)
    step(row, State.FULFILLED)
    with pytest.raises(AssertionError, match="and 1 NGN was paid instead of 500 NGN"):
        assert_books_agree(bank)


def test_what_cannot_come_due_says_why(bank: FakeProvider) -> None:
    with pytest.raises(AssertionError, match="nothing is due any more: it is fulfilled"):
        make_due(sent(bank))
    row = start()
    claimed(row)
    with pytest.raises(AssertionError, match="a worker has it until its lease is over"):
        make_due(row)
    assert run_round().swept == 0
    pass_time(timedelta(seconds=31))
    assert run_round().swept == 1
    assert path(now(row))[-2:] == ["dispatching", "fulfilled"]


def test_time_passes_for_what_is_written_once_and_its_guards_come_back(bank: FakeProvider) -> None:
    sent(bank)
    before = Attempt.objects.get()
    pass_time(HOUR)
    after = Attempt.objects.get()
    assert before.claimed_at - after.claimed_at == HOUR
    later = Attempt.objects.filter(pk=after.pk)
    with pytest.raises(IntegrityError, match="written of an attempt stays"), transaction.atomic():
        later.update(claimed_at=before.claimed_at)


def test_every_point_that_is_passed_can_be_named() -> None:
    source = "".join(file.read_text() for file in Path(fulfilment.__path__[0]).rglob("*.py"))
    passed = set(re.findall(r'checkpoint\("([\w.]+)"\)', source))
    assert set(POINTS) == passed, (
        "a point is passed that no test can name, or named and never passed"
    )


def claimed(row: Fulfilment) -> Any:
    """In the hands of a worker; of a row that is settled, as if it still were."""
    from fulfilment.dispatch.claim import Claimed, claim
    from fulfilment.reconcile.reading import situation_of

    begun, before = claim(row.pk, worker="worker:test"), situation_of(row)
    return begun or Claimed(
        fulfilment=row, attempt=row.attempts.get(), before=before, begun=float("inf")
    )
