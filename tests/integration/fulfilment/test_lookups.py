"""Asking the provider, and what its answers lead to."""

from datetime import timedelta

import pytest
from django.db import connection

from fulfilment import store
from fulfilment.connectors.base import Dedupe
from fulfilment.dispatch import attempt, sweep
from fulfilment.models import Case, Evidence, Fulfilment
from fulfilment.reconcile import lookups
from tests.integration.fulfilment.support import due, held, now, path, start

pytestmark = pytest.mark.django_db


def ask(row: Fulfilment, times: int = 1) -> None:
    for _ in range(times):
        due(row)
        lookups.look_up_due()


def unknown(provider, *, booked: bool) -> Fulfilment:
    """A row whose call was lost two hours ago, so that its attempt is fenced."""
    row = start()
    held(row, sent=True)
    sweep.sweep()
    if booked:
        provider.books[row.reference] = row.amount
    return now(row)


def paid_before(provider) -> Fulfilment:
    """A payment that both sides know: the canary."""
    row = start()
    attempt.run(row.pk)
    provider.sends.clear()
    return row


def test_a_lost_answer_is_found_and_settles_everything(provider, books) -> None:
    row = start()
    provider.will.append("lose_answer")
    attempt.run(row.pk)
    assert not books.told
    ask(row)
    assert now(row).state == "fulfilled"
    assert books.told == {"fulfilled": 1}
    assert row.transitions.order_by("-version").first().actor == "resolver"
    assert len(provider.books) == 1


def test_a_lost_request_goes_again_under_its_reference_once_absence_is_a_fact(provider) -> None:
    paid_before(provider)
    row = unknown(provider, booked=False)
    ask(row, times=2)
    assert now(row).state == "needs_reconciliation", "sent again on two answers"
    ask(row)
    assert now(row).state == "pending"
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert provider.sends == [row.reference]
    assert row.attempts.count() == 2


def test_without_a_known_reference_nothing_is_sent_again(provider) -> None:
    row = unknown(provider, booked=False)
    ask(row, times=6)
    assert now(row).state == "needs_reconciliation"
    assert not Evidence.objects.filter(canary=True).exists()
    assert provider.sends == []


def test_a_canary_that_is_not_found_makes_absence_worthless(provider) -> None:
    """As with a key of the wrong mode: it finds nothing at all."""
    paid_before(provider)
    row = unknown(provider, booked=False)
    provider.books.clear()
    ask(row, times=6)
    assert now(row).state == "needs_reconciliation"


def test_a_slow_request_is_found_later_and_never_sent_again(provider) -> None:
    paid_before(provider)
    row = start()
    provider.will.append("lose_request")
    attempt.run(row.pk)
    ask(row, times=4)  # the attempt is not fenced: these prove nothing
    assert now(row).state == "needs_reconciliation"
    provider.books[row.reference] = row.amount  # it arrives
    ask(row)
    assert now(row).state == "fulfilled"
    assert provider.sends == [row.reference]


def test_absence_goes_to_a_person_where_the_provider_knows_no_reference_again(provider) -> None:
    paid_before(provider)
    provider.promises(dedupe=Dedupe.NONE)
    row = unknown(provider, booked=False)
    ask(row, times=3)
    assert now(row).state == "needs_reconciliation"
    assert Case.objects.get().reason == "not_found"


def test_no_information_waits_longer_and_loses_no_place_in_the_schedule(provider) -> None:
    provider.can_be_asked = False
    row = unknown(provider, booked=True)
    pauses = []
    for _ in range(3):
        ask(row)
        pauses.append((now(row).next_check_at - store.now()).total_seconds())
    assert pauses == pytest.approx([2, 3600, 3600], abs=1)
    assert now(row).checks == 0
    provider.can_be_asked = True
    ask(row)
    assert now(row).state == "fulfilled"


def test_the_deadline_opens_a_case_and_the_answer_closes_it(provider, settings) -> None:
    provider.can_be_asked = False
    row = unknown(provider, booked=True)
    ask(row)
    assert not Case.objects.exists()
    settings.FULFILMENT["CASE_DEADLINE"] = timedelta(minutes=1)
    ask(row)
    case = Case.objects.get()
    assert (case.reason, case.closed_at) == ("deadline", None)
    assert now(row).next_check_at is not None, "the checks go on while a person works"
    provider.can_be_asked = True
    ask(row)
    assert now(row).state == "fulfilled"
    assert Case.objects.get().closed_by == "resolver"


def test_the_check_that_opens_the_case_is_not_later_than_its_deadline(provider, settings) -> None:
    settings.FULFILMENT["CASE_DEADLINE"] = timedelta(seconds=8)
    settings.FULFILMENT["SCHEDULE"] = (timedelta(hours=3),)
    row = start()
    provider.will.append("lose_answer")
    attempt.run(row.pk)
    sent_at = row.attempts.get().sent_at
    assert now(row).next_check_at <= sent_at + timedelta(seconds=8)


def test_a_provider_that_cannot_be_asked_is_sent_the_same_key_as_a_new_attempt(provider) -> None:
    provider.promises(
        dedupe=Dedupe.KEY_WINDOW, dedupe_window=timedelta(hours=24), lookup_by_reference=False
    )
    row = unknown(provider, booked=True)
    ask(row)
    assert not provider.questions
    assert now(row).state == "pending"
    due(row)
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert row.attempts.filter(sent_at__isnull=False).count() == 2, "a sending is an attempt"


def test_a_provider_that_cannot_be_asked_and_caches_errors_goes_to_a_person(provider) -> None:
    provider.promises(
        dedupe=Dedupe.KEY_WINDOW,
        dedupe_window=timedelta(hours=24),
        lookup_by_reference=False,
        errors_cached=True,
    )
    row = unknown(provider, booked=True)
    assert now(row).state == "needs_reconciliation"
    assert Case.objects.get().reason == "cannot_ask"


def test_a_dead_provider_is_left_alone_for_the_rest_of_the_run(provider) -> None:
    provider.can_be_asked = False
    rows = [unknown(provider, booked=True) for _ in range(6)]
    for row in rows:
        due(row)
    assert lookups.look_up_due() == 3
    assert len(provider.questions) == 3


@pytest.mark.parametrize("plan", ["as it likes", "the dearest"])
def test_one_look_up_is_taken_at_a_time_whatever_the_plan(provider, plan: str) -> None:
    rows = [unknown(provider, booked=True) for _ in range(6)]
    for row in rows:
        due(row)
    before = store.now()
    with connection.cursor() as cursor:
        for name in ("hashagg", "sort", "hashjoin", "mergejoin", "indexscan", "material"):
            if plan == "the dearest":
                cursor.execute(f"SET LOCAL enable_{name} = off")
    assert store.take_due_lookup(meanwhile=timedelta(minutes=1)) == rows[0].pk
    taken = Fulfilment.objects.filter(next_check_at__gt=before).count()
    assert taken == 1, f"{taken} rows were put off for one look-up: the others starve"


def test_a_look_up_that_raises_is_no_information(provider, monkeypatch) -> None:
    row = unknown(provider, booked=True)
    monkeypatch.setattr(provider, "look_up", lambda _: 1 / 0)
    ask(row)
    assert Evidence.objects.latest("id").finding == "no_information"
    assert now(row).state == "needs_reconciliation"


def test_late_truth_after_a_failure_reaches_a_person_and_changes_nothing(provider, books) -> None:
    provider.will.append("decline")
    row = start()
    attempt.run(row.pk)
    provider.books[row.reference] = row.amount
    evidence = lookups.query(now(row), actor="resolver")
    lookups.resolve.resolve(row.pk, news=[evidence.pk])
    assert now(row).state == "failed"
    assert books.told == {"failed": 1}
    assert Case.objects.get().reason == "conflict"


def test_two_overlapping_runs_ask_once(provider) -> None:
    row = unknown(provider, booked=False)
    due(row)
    first = store.take_due_lookup(meanwhile=timedelta(seconds=25))
    assert first == row.pk
    assert lookups.look_up_due() == 0, "two beats asked about one row at the same time"


def test_the_journal_shows_the_whole_way(provider) -> None:
    row = unknown(provider, booked=True)
    ask(row)
    assert path(row) == ["pending", "dispatching", "needs_reconciliation", "fulfilled"]
