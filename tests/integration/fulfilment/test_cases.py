"""What a person may decide, on what ground, and what nobody may."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, Permission

from fulfilment import store
from fulfilment.connectors.base import Accepted, Declined, Done
from fulfilment.dispatch import attempt, sweep
from fulfilment.errors import HandlerFailed, NotAllowed, Stale, VerdictRefused
from fulfilment.models import Case, CaseAction, Evidence, Fulfilment
from fulfilment.reconcile import cases, lookups
from fulfilment.states import State
from tests.integration.fulfilment.support import held, now, path, staff, start

pytestmark = pytest.mark.django_db

ALL = ("resolve_fulfilled", "resolve_failed", "ask_provider")


@pytest.fixture
def row(provider) -> Fulfilment:
    """Unknown for two hours, and the provider cannot be asked."""
    row = start()
    held(row, sent=True)
    sweep.sweep()
    provider.can_be_asked = False
    return now(row)


@pytest.fixture
def senior():
    return staff("senior", *ALL)


def decide(row: Fulfilment, actor, verdict: str, **given) -> Fulfilment:
    asked = {"evidence_reference": "statement 17", "note": "seen", "version": row.version}
    return cases.resolve(row.pk, actor=actor, verdict=verdict, **(asked | given))


@pytest.mark.parametrize("verdict", ["fulfilled", "failed"])
def test_a_verdict_moves_the_row_tells_the_books_and_names_the_person(
    row, senior, books, verdict: str
) -> None:
    case = cases.open(row, actor=senior)
    decided = cases.resolve(
        case,
        actor=senior,
        verdict=verdict,
        evidence_reference="statement 17",
        note="seen",
        version=row.version,
    )
    assert decided.state == verdict
    assert books.told == {verdict: 1}
    last = row.transitions.order_by("-version").first()
    assert last.actor == "staff:senior"
    assert last.evidence.source == "person"
    action = CaseAction.objects.get(action="resolved")
    assert (action.verdict, action.evidence_reference, action.note) == (
        verdict,
        "statement 17",
        "seen",
    )
    assert Case.objects.get().closed_by == "staff:senior"


def on_record(row: Fulfilment) -> tuple[object, ...]:
    """Everything that a second decision could leave behind."""
    fresh = now(row)
    return (
        (fresh.state, fresh.version, fresh.state_changed_at, fresh.decided_at),
        list(fresh.transitions.values()),
        list(CaseAction.objects.values()),
        list(Case.objects.values()),
        list(Evidence.objects.values()),
    )


@pytest.mark.parametrize("verdict", ["fulfilled", "failed"])
@pytest.mark.parametrize("seen", ["before", "after"])
def test_the_same_verdict_again_succeeds_and_restamps_nothing(
    row, senior, books, verdict: str, seen: str
) -> None:
    decide(row, senior, verdict)
    before = on_record(row)
    for person in (senior, staff("other", *ALL)):
        again = decide(row if seen == "before" else now(row), person, verdict)
        assert again.state == verdict
    assert on_record(row) == before, "the same verdict was given twice"
    assert books.told == {verdict: 1}


def test_another_verdict_is_refused_with_who_gave_the_first(row, senior, books) -> None:
    decide(row, senior, "fulfilled")
    before = on_record(row)
    with pytest.raises(Stale, match=r"staff:senior changed this .* it is now “fulfilled”"):
        decide(row, senior, "failed")
    with pytest.raises(VerdictRefused, match="no verdict to give by hand"):
        decide(now(row), senior, "failed")
    assert on_record(row) == before


def test_the_same_verdict_again_is_for_those_who_decide(row, senior, books) -> None:
    decide(row, senior, "fulfilled")
    with pytest.raises(NotAllowed):
        decide(row, staff("agent"), "fulfilled")


def test_a_form_from_before_somebody_elses_verdict_is_refused(row, senior, books) -> None:
    decide(row, senior, "failed")
    with pytest.raises(Stale, match="staff:senior"):
        decide(row, staff("other", *ALL), "fulfilled")
    assert books.told == {"failed": 1}


@pytest.mark.parametrize(
    ("permissions", "verdict"),
    [((), "failed"), (("resolve_failed",), "fulfilled"), (("resolve_fulfilled",), "failed")],
)
def test_each_verdict_needs_its_own_permission(row, permissions, verdict: str) -> None:
    with pytest.raises(NotAllowed, match=f"fulfilment.resolve_{verdict}"):
        decide(row, staff("agent", *permissions), verdict)
    assert now(row).state == "needs_reconciliation"


def test_a_superuser_is_not_exempt(row, provider) -> None:
    root = staff("root", superuser=True)
    assert root.has_perm("fulfilment.resolve_failed"), "Django itself would have said yes"
    with pytest.raises(NotAllowed, match="needs the permission"):
        decide(row, root, "failed")
    with pytest.raises(NotAllowed):
        lookups.ask(row.pk, actor=root)
    with pytest.raises(NotAllowed):
        cases.take(row, actor=root)
    assert not provider.questions


def test_a_permission_of_a_group_counts_and_an_inactive_person_has_none(row) -> None:
    person = staff("agent")
    group = Group.objects.create(name="deciders")
    group.permissions.add(Permission.objects.get(codename="resolve_failed"))
    person.groups.add(group)
    assert cases.may(person, "fulfilment.resolve_failed")
    person.is_active = False
    assert not cases.may(person, "fulfilment.resolve_failed")


def test_a_verdict_without_evidence_is_refused(row, senior) -> None:
    with pytest.raises(VerdictRefused, match="Name the evidence"):
        decide(row, senior, "fulfilled", evidence_reference="  ")


@pytest.mark.parametrize("verdict", ["reversed", "pending", "cancelled", ""])
def test_there_are_two_verdicts(row, senior, verdict: str) -> None:
    with pytest.raises(VerdictRefused):
        decide(row, senior, verdict)


def test_the_fresh_answer_counts_when_it_says_the_opposite(row, senior, provider, books) -> None:
    provider.can_be_asked = True
    provider.books[row.reference] = row.amount
    with pytest.raises(VerdictRefused, match="asked just now and says: done"):
        decide(row, senior, "failed")
    assert now(row).state == "fulfilled", "what the provider says settles it"
    assert books.told == {"fulfilled": 1}


def test_the_fresh_answer_that_agrees_settles_it_as_evidence(row, senior, provider, books) -> None:
    provider.can_be_asked = True
    provider.books[row.reference] = row.amount
    assert decide(row, senior, "fulfilled").state == "fulfilled"
    assert books.told == {"fulfilled": 1}
    assert row.transitions.order_by("-version").first().evidence.source == "lookup"


def test_nothing_is_called_failed_while_the_provider_works_on_it(
    row, senior, provider, monkeypatch
) -> None:
    monkeypatch.setattr(provider, "look_up", lambda _: Accepted(status="queued"))
    with pytest.raises(VerdictRefused, match="still working on it"):
        decide(row, senior, "failed")
    assert decide(row, senior, "fulfilled").state == "fulfilled"


def test_nothing_is_called_failed_before_every_attempt_is_fenced(senior, provider) -> None:
    provider.will.append("lose_request")
    fresh = start()
    attempt.run(fresh.pk)
    provider.can_be_asked = False
    with pytest.raises(VerdictRefused, match="may still be under way until"):
        decide(now(fresh), senior, "failed")
    assert decide(now(fresh), senior, "fulfilled").state == "fulfilled"


def test_a_person_decides_a_conflict(senior, provider, books) -> None:
    provider.will.append(lambda _: Done(amount=1, currency="NGN"))
    row = start()
    attempt.run(row.pk)
    provider.can_be_asked = False
    assert Case.objects.get().reason == "conflict"
    assert decide(now(row), senior, "fulfilled").state == "fulfilled"
    assert books.told == {"fulfilled": 1}


def test_what_came_after_a_persons_verdict_opens_a_new_case(row, senior, provider, books) -> None:
    decide(row, senior, "failed")
    provider.can_be_asked = True
    provider.books[row.reference] = row.amount
    lookups.ask(row.pk, actor=senior)
    assert now(row).state == "failed", "a verdict is never overwritten"
    assert books.told == {"failed": 1}
    reopened = Case.objects.get(closed_at__isnull=True)
    assert reopened.reason == "conflict"


@pytest.mark.parametrize("state", ["pending", "dispatching", "fulfilled"])
def test_there_is_no_verdict_by_hand_elsewhere(senior, provider, state: str) -> None:
    row = start()
    if state == "dispatching":
        held(row, sent=True)
    if state == "fulfilled":
        attempt.run(row.pk)
    with pytest.raises(VerdictRefused, match="no verdict to give by hand"):
        decide(now(row), senior, "failed")
    assert now(row).state == state


def test_books_that_refuse_a_persons_verdict_leave_it_on_the_case(row, senior, books) -> None:
    books.refuses = ValueError("no such account")
    with pytest.raises(HandlerFailed, match="no such account"):
        decide(row, senior, "failed")
    assert now(row).state == "needs_reconciliation"
    assert not Evidence.objects.filter(source="person").exists(), "it would settle the row later"
    notes = CaseAction.objects.filter(action="noted").values_list("note", flat=True)
    assert any("tried “failed”" in note for note in notes)


def test_asking_answers_and_is_on_the_case(row, senior, provider) -> None:
    cases.open(row, actor=senior)
    evidence = lookups.ask(row.pk, actor=senior)
    assert (evidence.finding, evidence.actor) == ("no_information", "staff:senior")
    assert CaseAction.objects.filter(action="asked", actor="staff:senior").count() == 1


def test_asking_does_not_put_off_the_next_automatic_check(row, senior) -> None:
    before = row.next_check_at
    lookups.ask(row.pk, actor=senior)
    assert now(row).next_check_at <= before


def test_a_case_is_taken_given_back_and_noted(row, senior) -> None:
    assert cases.take(row, actor=senior).owner == senior
    assert cases.release(row, actor=senior).owner is None
    cases.note(row, actor=senior, note="called the bank")
    assert Case.objects.count() == 1
    assert CaseAction.objects.filter(note="called the bank").exists()


def test_an_attempt_tells_from_when_it_is_harmless(row) -> None:
    old = row.attempts.get()
    assert cases.fenced_from(old) == old.lease_until + timedelta(seconds=15)
    other = start()
    assert cases.fenced_from(held(other, sent=False)) is None


def test_a_decline_found_before_the_fence_waits_for_it(senior, provider, monkeypatch) -> None:
    provider.will.append("lose_request")
    row = start()
    attempt.run(row.pk)
    monkeypatch.setattr(provider, "look_up", lambda _: Declined(reason="closed"))
    lookups.ask(row.pk, actor=senior)
    waiting = now(row)
    assert waiting.state == State.NEEDS_RECONCILIATION
    assert waiting.next_check_at >= store.now()
    assert path(row)[-1] == "needs_reconciliation"
