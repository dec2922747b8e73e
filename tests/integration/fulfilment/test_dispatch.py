"""One attempt, whatever the provider does with it."""

from datetime import timedelta

import pytest
from django.db import connection

from fulfilment import rounds, store, transitions
from fulfilment.connectors.base import Dedupe, Done
from fulfilment.dispatch import attempt, poll, sweep
from fulfilment.dispatch.claim import claim
from fulfilment.models import Case, Evidence, Fulfilment
from fulfilment.reconcile import lookups
from fulfilment.reconcile.evidence import Finding, Source, Statement
from fulfilment.reconcile.record import record
from fulfilment.states import State
from tests.integration.fulfilment.support import due, held, now, path, start, unreadable

pytestmark = pytest.mark.django_db


def test_an_answer_done_fulfils_and_tells_the_books_once(provider, books) -> None:
    row = start()
    attempt.run(row.pk, worker="worker:a")
    assert path(row) == ["pending", "dispatching", "fulfilled"]
    assert books.told == {"fulfilled": 1}
    assert provider.sends == [row.reference]
    last = row.transitions.get(version=2)
    assert (last.actor, last.attempt.number) == ("worker:a", 1)
    assert last.evidence.source == "response"
    assert now(row).decided_at is not None


def test_a_row_that_is_settled_is_not_sent_again(provider) -> None:
    row = start()
    for _ in range(3):  # a message that is delivered again
        attempt.run(row.pk)
    assert len(provider.sends) == 1


def test_a_decline_passes_through_reconciliation_and_fails(provider, books) -> None:
    provider.will.append("decline")
    row = start()
    attempt.run(row.pk)
    assert path(row) == ["pending", "dispatching", "needs_reconciliation", "failed"]
    assert books.told == {"failed": 1}
    assert not Case.objects.exists(), "a passage opens no case"


@pytest.mark.parametrize("fault", ["not_sent", "refuse"])
def test_what_began_nothing_waits_in_pending_and_goes_again(provider, fault: str) -> None:
    provider.will.extend([fault] * 3)
    row = start()
    pauses = []
    for _ in range(3):
        due(row)
        attempt.run(row.pk)
        assert now(row).state == "pending", "visible in the queue of people for a refused call"
        pauses.append((now(row).next_check_at - store.now()).total_seconds())
    assert pauses == pytest.approx([5, 10, 20], abs=1), "the pause must double"
    assert not Case.objects.exists()
    due(row)
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert now(row).refusals == 3
    assert set(provider.sends) == {row.reference}, "the same reference on every attempt"


@pytest.mark.parametrize("fault", ["lose_answer", "lose_request", "accept", "boom"])
def test_what_nobody_knows_is_never_failed_and_never_sent_again(provider, fault: str) -> None:
    provider.will.append(fault)
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "needs_reconciliation"
    assert now(row).next_check_at > store.now()
    due(row)
    attempt.run(row.pk)
    assert len(provider.sends) == 1


def test_done_with_another_amount_posts_nothing_and_asks_a_person(provider, books) -> None:
    provider.will.append(lambda _: Done(amount=1, currency="NGN"))
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "needs_reconciliation"
    assert not books.told
    assert Case.objects.get().reason == "conflict"


def test_the_body_and_its_digest_are_kept(provider) -> None:
    row = start()
    attempt.run(row.pk)
    evidence = Evidence.objects.get(fulfilment=row)
    assert bytes(evidence.payload.body) == b'{"status":"succeeded"}'
    assert len(evidence.digest) == 64


def test_evidence_that_came_during_the_call_counts_when_it_ends(provider, books) -> None:
    """A webhook that says declined while our call says done: a person decides, nothing is lost."""
    row = start()

    def denied_meanwhile(instruction):
        said = Statement(finding=Finding.NOT_DONE)
        record(now(row), said, source=Source.WEBHOOK, actor="provider:memory")
        provider.books[instruction.reference] = instruction.amount
        return provider.done(instruction.reference)

    provider.will.append(denied_meanwhile)
    attempt.run(row.pk)
    assert now(row).state == "needs_reconciliation"
    assert Case.objects.get().reason == "conflict"
    assert not books.told


def test_a_mark_is_refused_when_the_call_would_outlast_the_lease(provider, settings) -> None:
    settings.FULFILMENT["LEASE"] = timedelta(seconds=15.05)
    row = start()
    claimed = claim(row.pk, worker="worker:slow")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.1)")
    assert not attempt.mark(claimed), "a call that may end after its lease must not begin"


def test_a_worker_that_slept_after_the_mark_does_not_call(provider, settings) -> None:
    row = start()
    claimed = claim(row.pk, worker="worker:paused")
    assert attempt.mark(claimed)
    settings.FULFILMENT["LEASE"] = timedelta(seconds=14)  # as if a second of grace were over
    outcome = attempt.send(claimed)
    attempt.settle(claimed, outcome)
    assert provider.sends == []
    assert now(row).state == "pending"


def test_no_row_is_sent_after_the_provider_forgot_its_reference(provider) -> None:
    """It went back to pending inside the window and waited there until the window was over."""
    row = start()
    held(row, sent=True)
    sweep.sweep()
    transitions.move(
        now(row), to=State.PENDING, actor="t", reason="fact", next_check_at=store.now()
    )
    provider.promises(dedupe=Dedupe.KEY_WINDOW, dedupe_window=timedelta(hours=1))
    attempt.run(row.pk)
    assert provider.sends == [], "sent again although the provider no longer knows the reference"
    assert now(row).state == "needs_reconciliation"


def test_a_row_that_cannot_be_claimed_does_not_keep_the_others(provider, settings) -> None:
    settings.FULFILMENT["BATCH"] = 1
    bad, good = start(), start()
    unreadable(bad)
    rounds.dispatch_round()
    assert now(bad).next_check_at > store.now()
    rounds.dispatch_round()
    assert now(good).state == "fulfilled", "the row that fails was the first again"
    assert provider.sends == [good.reference]


def test_the_poller_finds_what_no_worker_heard_of() -> None:
    row, later = start(), start()
    Fulfilment.objects.filter(pk=later.pk).update(next_check_at=store.now() + timedelta(hours=1))
    assert poll.due() == [row.pk]


class TestSweep:
    def test_a_crash_before_the_mark_goes_back_without_a_question(self, provider) -> None:
        row = start()
        held(row, sent=False)
        assert sweep.sweep() == 1
        assert path(row) == ["pending", "dispatching", "needs_reconciliation", "pending"]
        assert now(row).failed_starts == 1
        assert not provider.questions
        attempt.run(row.pk)
        assert now(row).state == "fulfilled"

    def test_a_crash_after_the_mark_is_unknown_and_is_found_by_look_up(self, provider) -> None:
        row = start()
        held(row, sent=True)
        provider.books[row.reference] = row.amount
        sweep.sweep()
        assert now(row).state == "needs_reconciliation"
        assert row.transitions.get(version=2).actor == "sweeper"
        due(row)
        lookups.look_up_due()
        assert now(row).state == "fulfilled"
        assert provider.sends == [], "sent again although it may have been done"

    def test_an_attempt_whose_lease_runs_is_left_alone(self) -> None:
        row = start()
        held(row, sent=True, lease_over=False)
        assert sweep.sweep() == 0
        assert now(row).state == "dispatching"

    def test_the_fifth_crash_stops_the_row_and_asks_a_person(self) -> None:
        row = start()
        for _ in range(5):
            held(now(row), sent=False)
            sweep.sweep()
        assert now(row).state == "needs_reconciliation"
        assert Case.objects.get().reason == "crashes"
        assert poll.due() == [], "a poison row must not reach a worker again"

    def test_evidence_that_came_while_the_worker_died_settles_the_row_at_once(self, books) -> None:
        row = start()
        gone = held(row, sent=True)
        said = Statement(finding=Finding.DONE, amount=500, currency="NGN")
        record(now(row), said, source=Source.RESPONSE, actor="worker:gone", attempt=gone)
        sweep.sweep()
        assert path(row) == ["pending", "dispatching", "fulfilled"]
        assert books.told == {"fulfilled": 1}

    def test_one_row_that_fails_does_not_keep_the_others(self, settings) -> None:
        settings.FULFILMENT["BATCH"] = 1
        bad, good = start(), start()
        unreadable(bad)
        held(bad, sent=True)
        held(good, sent=True)
        assert sweep.sweep() == 0
        assert sweep.sweep() == 1, "the row that fails was the first again"
        assert now(good).state == "needs_reconciliation"

    def test_a_row_that_waits_an_hour_gets_a_case_and_keeps_being_tried(
        self, provider, settings
    ) -> None:
        row = start()
        provider.will.append("not_sent")
        attempt.run(row.pk)
        assert sweep.open_cases_for_waiting() == 0
        settings.FULFILMENT["PENDING_DEADLINE"] = timedelta(0)
        assert sweep.open_cases_for_waiting() == 1
        assert sweep.open_cases_for_waiting() == 0, "one case is enough"
        assert Case.objects.get().reason == "pending_too_long"
        due(row)
        attempt.run(row.pk)
        assert now(row).state == "fulfilled"
        assert Case.objects.get().closed_at is not None, "evidence that settles it closes the case"
