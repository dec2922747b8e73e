"""A payment gets a new reference in the transaction of a failure, and nobody is told of that one."""

from typing import Any

import pytest

from fulfilment.dispatch import attempt, sweep
from fulfilment.errors import NotAllowed, NotCancellable, Stale, VerdictRefused
from fulfilment.models import Case, Fulfilment
from fulfilment.reconcile import cancellations, cases
from fulfilment.reconcile.evidence import Finding
from fulfilment.reconcile.lookups import look_up_due
from fulfilment.states import reference_of
from fulfilment.testing import pass_time
from tests.integration.fulfilment.conftest import QUICK
from tests.integration.fulfilment.support import due, event, held, now, path, staff, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def senior():
    return staff("senior", "send_again", "resolve_fulfilled", "resolve_failed", "correct_failed")


@pytest.fixture
def unknown(provider) -> Fulfilment:
    """Sent, and the answer never came; the attempt is fenced, and the provider cannot be asked."""
    provider.will.append("lose_request")
    row = start("p1")
    attempt.run(row.pk)
    pass_time(QUICK["LEASE"] + QUICK["TOTAL_DEADLINE"] + QUICK["MARGIN"])
    provider.can_be_asked = False
    return now(row)


def newest(row: Fulfilment) -> Fulfilment:
    return Fulfilment.objects.filter(payment_id=row.payment_id).latest("generation")


def again(row: Fulfilment, actor: Any, **given: Any) -> Fulfilment:
    asked = {"verdict": "send_again", "evidence_reference": "ticket 7", "version": row.version}
    return cases.resolve(row.pk, actor=actor, **(asked | given))


def test_a_rule_sends_a_failed_payment_again_and_tells_nobody_of_the_failure(
    provider, books
) -> None:
    books.again = 2
    provider.will.extend(["decline", "ok"])
    first = start("p1")
    attempt.run(first.pk)
    second = newest(first)
    assert (now(first).state, second.generation, second.state) == ("failed", 2, "pending")
    assert second.reference == reference_of("p1", connector="memory", generation=2)
    assert not books.told, "the project was told of a failure that is not the end"
    attempt.run(second.pk)
    assert (now(second).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert list(provider.books) == [second.reference]


def test_the_last_failure_is_told(provider, books) -> None:
    books.again = 2
    provider.will.extend(["decline", "decline"])
    first = start()
    attempt.run(first.pk)
    attempt.run(newest(first).pk)
    assert (newest(first).generation, newest(first).state) == (2, "failed")
    assert books.told == {"failed": 1}


def test_a_rule_gets_no_more_references_than_the_setting_says(provider, books, settings) -> None:
    settings.FULFILMENT["GENERATIONS"] = 3
    books.again = 99
    provider.will.extend(["decline"] * 5)
    row = start()
    for _ in range(5):
        attempt.run(newest(row).pk)
    assert (newest(row).generation, len(provider.sends)) == (3, 3)
    assert books.told == {"failed": 1}


def test_a_rule_that_raises_undoes_the_verdict_and_opens_a_case(
    provider, books, monkeypatch
) -> None:
    monkeypatch.setattr(books, "again", None)  # None is no number: the rule raises a TypeError
    provider.will.append("decline")
    row = start()
    attempt.run(row.pk)
    assert (now(row).state, Case.objects.get().reason) == ("needs_reconciliation", "handler_failed")
    assert Fulfilment.objects.count() == 1


def test_whatever_asks_again_gets_the_newest_reference(provider, books) -> None:
    books.again = 2
    provider.will.append("decline")
    row = start("p1", event_id="e1")
    attempt.run(row.pk)
    assert start("p1", event_id="e2").pk == newest(row).pk


def test_a_person_sends_it_again_and_the_old_case_says_so(unknown, senior, books, provider) -> None:
    cases.open(unknown, actor=senior)
    after = again(unknown, senior, note="the bank has nothing")
    second = newest(unknown)
    assert (after.state, second.state, second.generation) == ("failed", "pending", 2)
    assert (second.started_by, books.told) == ("staff:senior", {})
    case = Case.objects.get()
    assert case.closed_at is not None
    assert second.reference in case.actions.get(action="closed").note
    given = case.actions.get(action="resolved")
    assert (given.verdict, given.evidence_reference) == ("send_again", "ticket 7")
    attempt.run(second.pk)
    assert (now(second).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert list(provider.books) == [second.reference]


def test_a_person_is_not_bound_by_the_rules_number(unknown, senior, settings) -> None:
    settings.FULFILMENT["GENERATIONS"] = 1
    again(unknown, senior)
    assert newest(unknown).generation == 2


def test_the_providers_own_not_done_does_not_take_the_persons_choice_away(
    unknown, senior, books, provider, monkeypatch
) -> None:
    provider.can_be_asked = True
    monkeypatch.setattr(provider, "look_up", lambda _: provider._answer("decline", None))
    again(unknown, senior)
    assert (newest(unknown).generation, books.told) == (2, {})


def test_what_the_provider_says_was_done_is_not_sent_again(
    unknown, senior, provider, books
) -> None:
    provider.can_be_asked = True
    provider.books[unknown.reference] = unknown.amount
    with pytest.raises(VerdictRefused, match="asked just now and says: done"):
        again(unknown, senior)
    assert (now(unknown).state, Fulfilment.objects.count()) == ("fulfilled", 1)


def test_it_needs_a_permission_of_its_own(unknown) -> None:
    clerk = staff("clerk", "resolve_failed", "correct_failed", superuser=True)
    with pytest.raises(NotAllowed, match=r"fulfilment\.send_again"):
        again(unknown, clerk)
    assert Fulfilment.objects.count() == 1


def test_nothing_is_sent_again_while_the_first_may_still_arrive(provider, senior) -> None:
    provider.will.append("lose_request")
    row = start()
    attempt.run(row.pk)
    provider.can_be_asked = False
    with pytest.raises(VerdictRefused, match="may still be under way"):
        again(now(row), senior)


def test_a_second_click_sends_nothing_twice(unknown, senior, books) -> None:
    first = again(unknown, senior)
    second = again(unknown, senior)
    assert (first.version, Fulfilment.objects.count()) == (second.version, 2)


def test_what_was_told_to_the_app_is_never_sent_again(unknown, senior, books) -> None:
    told = cases.resolve(
        unknown.pk, actor=senior, verdict="failed", evidence_reference="t", version=unknown.version
    )
    with pytest.raises(Stale):
        again(unknown, senior)
    event(told, Finding.DONE)
    with pytest.raises(VerdictRefused, match="of this its app was told"):
        again(now(told), senior)
    assert (Fulfilment.objects.count(), books.told) == (1, {"failed": 1})


def test_above_the_limit_a_second_person_sends_it_again(unknown, senior, settings) -> None:
    settings.FULFILMENT["SECOND_PERSON_ABOVE"] = {"NGN": 1}
    assert again(unknown, senior).state == "needs_reconciliation"
    proposal = unknown.cases.get().actions.get(action="proposed")
    assert proposal.verdict == "send_again"
    approve = {"proposal": proposal.pk, "version": unknown.version}
    with pytest.raises(NotAllowed, match=r"fulfilment\.send_again"):
        cases.approve(unknown.pk, actor=staff("clerk", "resolve_failed"), **approve)
    cases.approve(unknown.pk, actor=staff("boss", "send_again"), **approve)
    assert newest(unknown).generation == 2


def test_a_payment_of_which_an_earlier_reference_was_sent_is_not_cancelled(unknown, senior) -> None:
    again(unknown, senior)
    with pytest.raises(NotCancellable):
        cancellations.cancel("p1", actor="customer", reason="changed my mind")


def test_a_failure_of_the_older_after_the_newers_success_changes_nothing(
    unknown, senior, books
) -> None:
    again(unknown, senior)
    second = newest(unknown)
    attempt.run(second.pk)
    event(unknown, Finding.NOT_DONE)
    assert (now(unknown).state, now(second).state) == ("failed", "fulfilled")
    assert books.told == {"fulfilled": 1}
    assert not Case.objects.filter(closed_at__isnull=True).exists()


def test_a_look_up_that_finds_the_failure_opens_the_next_one_too(
    provider, books, monkeypatch
) -> None:
    books.again = 2
    row = start()
    held(row, sent=True)
    monkeypatch.setattr(provider, "look_up", lambda _: provider._answer("decline", None))

    sweep.sweep()
    due(row)
    look_up_due()
    assert path(row)[-1] == "failed"
    assert (newest(row).generation, books.told) == (2, {})
