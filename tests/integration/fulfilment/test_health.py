"""The figures of the machine, each made by what it counts; limits, metrics and pages follow them."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from fulfilment import health, rounds, store, tasks
from fulfilment.dispatch import attempt, sweep
from fulfilment.models import Fulfilment, ProviderEvent, Pulse
from fulfilment.reconcile import lookups, resolve
from fulfilment.reconcile.evidence import Finding
from tests.integration.fulfilment.support import due, event, held, start

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def figures() -> Any:
    return health.now().figures


def troubles() -> set[str]:
    return {each.name for each in health.now().troubles}


def aged(row: Fulfilment, **columns: timedelta) -> None:
    moments = {name: store.now() - age for name, age in columns.items()}
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE fulfilment DISABLE TRIGGER USER")
        Fulfilment.objects.filter(pk=row.pk).update(**moments)
        cursor.execute("ALTER TABLE fulfilment ENABLE TRIGGER USER")


def silent_for(name: str, age: timedelta) -> None:
    Pulse.objects.filter(name=name).update(at=store.now() - age)


def test_a_machine_that_never_ran_is_in_trouble_and_one_round_mends_it() -> None:
    never = {"since_sweep", "since_look_up", "since_apply", "since_dispatch"}
    assert troubles() == never, "a service whose workers were never started looks healthy"
    rounds.whole_round()
    assert health.now().healthy
    assert figures().counts == {
        "sweep": 1,
        "look_up": 1,
        "apply": 1,
        "dispatch": 1,
        "beat": 0,
        "conflict": 0,
        "late_success": 0,
        "found_after_not_found": 0,
    }


@pytest.mark.parametrize("name", ["sweep", "look_up", "apply", "dispatch"])
def test_a_round_that_stopped_is_in_trouble_by_its_name(name: str) -> None:
    rounds.whole_round()
    silent_for(name, HOUR)
    assert troubles() == {f"since_{name}"}
    assert figures().last[name] == pytest.approx(3600, abs=60)


def test_beat_is_missed_once_it_was_heard_and_not_before() -> None:
    rounds.whole_round()
    assert "since_beat" not in troubles(), "who runs `run_sweeps` has no beat"
    tasks.poll()
    assert health.now().healthy
    silent_for("beat", HOUR)
    assert troubles() == {"since_beat"}


def test_a_round_that_dies_leaves_no_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds.whole_round()
    silent_for("sweep", HOUR)

    def dies() -> int:
        raise RuntimeError

    monkeypatch.setattr(sweep, "sweep", dies)
    with pytest.raises(RuntimeError):
        rounds.sweep_round()
    assert troubles() == {"since_sweep"}


def test_a_round_of_look_ups_that_another_makes_is_not_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one that holds the lock may hang; only it can say that it came to its end."""
    rounds.whole_round()
    silent_for("look_up", HOUR)
    monkeypatch.setattr("fulfilment.store.rounds.TRY_ALONE", "SELECT %(name)s IS NULL")
    lookups.look_up_due()
    assert troubles() == {"since_look_up"}


def test_ages_and_counts_of_open_payments_by_state(provider) -> None:
    rounds.whole_round()
    waiting, sending, unknown = start(), start(), start()
    held(sending, sent=True, lease_over=False)
    provider.will.extend(["lose_answer"])
    attempt.run(unknown.pk)
    aged(waiting, created_at=HOUR)
    aged(sending, state_changed_at=timedelta(minutes=30), created_at=2 * HOUR)
    aged(unknown, created_at=100 * HOUR)
    found = figures()
    assert {state: group.count for state, group in found.rows.items()} == {
        "pending": 1,
        "dispatching": 1,
        "needs_reconciliation": 1,
    }
    ages = {state: round(group.oldest / 60) for state, group in found.rows.items()}
    assert ages == {"pending": 60, "dispatching": 30, "needs_reconciliation": 6000}
    assert troubles() == {"oldest_pending", "oldest_dispatching", "oldest_unknown"}


def test_a_payment_that_goes_again_waits_since_its_last_call_and_not_since_it_was_asked_for(
    provider,
) -> None:
    row = start()
    provider.will.extend(["lose_answer"])
    attempt.run(row.pk)
    resolve.resolve(row.pk)
    aged(row, created_at=100 * HOUR)
    # As the policy puts it back once an absence is a fact.
    Fulfilment.objects.get(pk=row.pk)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE fulfilment DISABLE TRIGGER USER")
        Fulfilment.objects.filter(pk=row.pk).update(state="pending")
        cursor.execute("ALTER TABLE fulfilment ENABLE TRIGGER USER")
    assert figures().rows["pending"].oldest < 60


def test_a_refused_connection_begins_no_new_wait(provider) -> None:
    row = start()
    provider.will.extend(["not_sent"])
    attempt.run(row.pk)
    aged(row, created_at=HOUR)
    assert figures().rows["pending"].oldest > 3500, "each back-off would hide the wait"


def test_a_check_that_nobody_makes_is_overdue(provider) -> None:
    rounds.whole_round()
    row = start()
    Fulfilment.objects.filter(pk=row.pk).update(next_check_at=store.now() - HOUR)
    assert figures().overdue == pytest.approx(3600, abs=60)
    assert troubles() == {"overdue"}


def test_a_row_without_a_next_check_would_be_seen(provider) -> None:
    rounds.whole_round()
    row = start()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE fulfilment DROP CONSTRAINT fulfilment_open_has_next_check")
        try:
            Fulfilment.objects.filter(pk=row.pk).update(next_check_at=None)
            assert figures().without_next_check == 1
            assert troubles() == {"without_next_check"}
        finally:
            due(row)
            cursor.execute(
                "ALTER TABLE fulfilment ADD CONSTRAINT fulfilment_open_has_next_check CHECK ("
                " (state IN ('dispatching', 'needs_reconciliation', 'pending'))"
                " = (next_check_at IS NOT NULL))"
            )


def test_events_that_wait_and_events_that_were_given_up(settings: Any) -> None:
    rounds.whole_round()
    for number, status in enumerate(["received", "parked", "parked", "dead", "applied"]):
        kept = ProviderEvent.objects.create(
            provider="memory",
            livemode=False,
            dedupe_key=str(number),
            type="t",
            digest="",
            received_at=store.now() - HOUR,
            status="received",
            next_check_at=store.now() + HOUR,
        )
        waits = status in {"received", "parked"}
        ProviderEvent.objects.filter(pk=kept.pk).update(
            status=status,
            next_check_at=kept.next_check_at if waits else None,
            applied_at=store.now() if status == "applied" else None,
        )
    counts = {status: group.count for status, group in figures().events.items()}
    assert counts == {"received": 1, "parked": 2, "dead": 1}
    assert troubles() == {"oldest_received"}
    settings.FULFILMENT = settings.FULFILMENT | {
        "HEALTH": {"dead_events": 0, "oldest_parked": timedelta(minutes=1)}
    }
    assert troubles() == {"oldest_received", "oldest_parked", "dead_events"}


def test_a_late_success_is_counted_once_and_so_is_its_conflict(provider) -> None:
    provider.will.extend(["decline"])
    row = start()
    attempt.run(row.pk)
    for _ in range(3):
        event(row, Finding.DONE)
    found = figures()
    assert (found.counts["late_success"], found.counts["conflict"]) == (1, 1)
    assert found.cases["conflict"].count == 1


def test_what_is_found_after_it_was_not_found_is_counted(provider) -> None:
    provider.will.extend(["lose_request"])
    row = start()
    attempt.run(row.pk)
    due(row)
    lookups.look_up_due()
    assert figures().counts["found_after_not_found"] == 0
    provider.books[row.reference] = row.amount  # the request was slow, not lost
    due(row)
    lookups.look_up_due()
    assert Fulfilment.objects.get(pk=row.pk).state == "fulfilled"
    assert figures().counts["found_after_not_found"] == 1


def test_the_questions_go_through_partial_indexes() -> None:
    """Millions of settled payments and applied events are not read by a scrape."""
    from fulfilment.health import figures as asked

    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        try:
            for question in (asked.OPEN_ROWS, asked.EVENTS, asked.CASES):
                cursor.execute(f"EXPLAIN {question}")
                plan = "\n".join(line for (line,) in cursor.fetchall())
                assert not re.search(
                    r"Seq Scan on (fulfilment|provider_event|fulfilment_case)\b", plan
                ), plan
        finally:
            cursor.execute("SET enable_seqscan = on")
