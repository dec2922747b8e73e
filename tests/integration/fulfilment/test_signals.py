"""Whoever listens hears of every change once, after it is committed, and of nothing that was undone."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from fulfilment import signals
from fulfilment.dispatch import attempt
from fulfilment.reconcile import lookups
from fulfilment.reconcile.evidence import Finding
from tests.integration.fulfilment.support import due, event, held, now, start

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def heard() -> Iterator[list[dict[str, Any]]]:
    said: list[dict[str, Any]] = []

    def listen(**what: Any) -> None:
        # A receiver sees the world as it is after the commit, not as it may become.
        said.append(what | {"in_transaction": transaction.get_connection().in_atomic_block})

    for signal in (signals.fulfilment_moved, signals.case_opened):
        signal.connect(listen, weak=False, dispatch_uid="heard")
    yield said
    for signal in (signals.fulfilment_moved, signals.case_opened):
        signal.disconnect(dispatch_uid="heard")


def ways(heard: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(h["before"], h["after"]) for h in heard if h["signal"] is signals.fulfilment_moved]


def test_a_payment_that_succeeds_is_told_of_in_two_steps(provider, heard) -> None:
    attempt.run(start().pk)
    assert ways(heard) == [("pending", "dispatching"), ("dispatching", "fulfilled")]
    assert not any(h["in_transaction"] for h in heard), "told before it was committed"
    assert {h["sender"] for h in heard} == {"test"}


def test_a_reversal_is_told_of_once_however_often_it_is_reported(provider, heard) -> None:
    row = start()
    attempt.run(row.pk)
    provider.give_back(row.reference)
    for _ in range(3):
        event(row, Finding.REVERSED)
    assert ways(heard).count(("fulfilled", "reversed")) == 1


def test_what_a_row_only_passes_through_is_told_to_nobody(provider, heard) -> None:
    provider.will.extend(["decline"])
    row = start()
    attempt.run(row.pk)
    assert [t.after for t in row.transitions.order_by("version")] == [
        "dispatching",
        "needs_reconciliation",
        "failed",
    ]
    assert "needs_reconciliation" not in [after for _, after in ways(heard)], (
        "a mail would say that nobody knows, in the very moment in which it is known"
    )
    assert ways(heard)[-1] == ("needs_reconciliation", "failed")


def test_a_payment_that_nobody_knows_of_is_told_of(provider, heard) -> None:
    provider.will.extend(["lose_answer"])
    row = start()
    attempt.run(row.pk)
    assert ways(heard)[-1] == ("dispatching", "needs_reconciliation")
    due(row)
    lookups.look_up_due()
    assert ways(heard)[-1] == ("needs_reconciliation", "fulfilled")


def test_a_verdict_that_is_undone_is_told_to_nobody_and_its_case_is(provider, books, heard) -> None:
    books.refuses_outcome = "fulfilled"
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "needs_reconciliation"
    assert "fulfilled" not in [after for _, after in ways(heard)]
    cases = [h for h in heard if h["signal"] is signals.case_opened]
    assert [(c["reference"], c["reason"]) for c in cases] == [(row.reference, "handler_failed")]


def test_a_listener_that_raises_spoils_nothing(provider, books, heard) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError("the mail server is gone")

    signals.fulfilment_moved.connect(broken, weak=False, dispatch_uid="broken")
    try:
        row = start()
        held(row, sent=True)
        provider.books[row.reference] = row.amount
        event(row, Finding.DONE)
        attempt.run(start().pk)
    finally:
        signals.fulfilment_moved.disconnect(dispatch_uid="broken")
    assert books.told["fulfilled"] == 1
    assert ways(heard)[-1] == ("dispatching", "fulfilled"), "the others were not told"
