"""Above a limit two people decide, and nothing that was learnt in between is passed over."""

from typing import Any

import pytest

from fulfilment import checks, store, transitions
from fulfilment.connectors.base import Declined, NotFound
from fulfilment.dispatch import attempt, sweep
from fulfilment.errors import HandlerFailed, NotAllowed, Stale, VerdictRefused
from fulfilment.models import Case, CaseAction, Evidence, Fulfilment
from fulfilment.reconcile import cases, lookups
from fulfilment.reconcile.evidence import Finding, Source
from fulfilment.states import State
from tests.integration.fulfilment.support import denied, due, event, held, now, staff, start

pytestmark = pytest.mark.django_db

ALL = ("resolve_fulfilled", "resolve_failed", "correct_failed", "ask_provider")


@pytest.fixture(autouse=True)
def limit(settings: Any, provider) -> None:
    settings.FULFILMENT = settings.FULFILMENT | {"SECOND_PERSON_ABOVE": {"NGN": 499}}


@pytest.fixture
def row(provider) -> Fulfilment:
    """Unknown for two hours, above the limit, and the provider cannot be asked."""
    row = start()
    held(row, sent=True)
    sweep.sweep()
    provider.can_be_asked = False
    return now(row)


@pytest.fixture
def amy():
    return staff("amy", *ALL)


@pytest.fixture
def bob():
    return staff("bob", *ALL)


def decide(row: Fulfilment, actor: Any, verdict: str = "fulfilled", **given: Any) -> Fulfilment:
    asked = {"evidence_reference": "statement 17", "note": "seen", "version": row.version}
    return cases.resolve(row.pk, actor=actor, verdict=verdict, **(asked | given))


def proposal(row: Fulfilment) -> int:
    return CaseAction.objects.filter(case__fulfilment=row, action="proposed").latest("id").pk


def approve(row: Fulfilment, actor: Any) -> Fulfilment:
    return cases.approve(row.pk, actor=actor, proposal=proposal(row), version=row.version)


def said(row: Fulfilment) -> list[str]:
    actions = CaseAction.objects.filter(case__fulfilment=row).order_by("id")
    return list(actions.values_list("action", flat=True))


@pytest.mark.parametrize("verdict", ["fulfilled", "failed"])
def test_the_first_person_proposes_and_the_second_decides(
    row, amy, bob, books, verdict: str
) -> None:
    assert decide(row, amy, verdict).state == "needs_reconciliation"
    assert (books.told, Evidence.objects.filter(source="person").count()) == ({}, 0)
    decided = approve(row, bob)
    assert (decided.state, books.told) == (verdict, {verdict: 1})
    move = row.transitions.order_by("-version").first()
    assert move.actor == "staff:bob"
    assert "decided on statement 17, proposed by staff:amy" in move.reason
    approved = CaseAction.objects.get(action="approved")
    assert (approved.actor, approved.verdict, approved.evidence_reference) == (
        "staff:bob",
        verdict,
        "statement 17",
    )
    assert said(row) == ["opened", "proposed", "approved", "closed"]


@pytest.mark.parametrize("limits", [{"NGN": 500}, {"EUR": 0}, {}], ids=str)
def test_up_to_the_limit_and_in_other_currencies_one_person_decides(
    amy, settings, row, limits: dict[str, int]
) -> None:
    settings.FULFILMENT = settings.FULFILMENT | {"SECOND_PERSON_ABOVE": limits}
    assert decide(row, amy).state == "fulfilled"


def test_nobody_approves_their_own_proposal(row, amy, books) -> None:
    decide(row, amy)
    with pytest.raises(VerdictRefused, match="a second person has to approve it"):
        approve(row, amy)
    with pytest.raises(VerdictRefused, match="needs a second person"):
        decide(row, amy)
    assert (now(row).state, books.told) == ("needs_reconciliation", {})


def test_a_superuser_is_no_second_person_without_the_permission(row, amy) -> None:
    decide(row, amy)
    for permissions in ((), ("resolve_failed",)):
        root = staff(f"root{len(permissions)}", *permissions, superuser=True)
        with pytest.raises(NotAllowed):
            approve(row, root)
    assert now(row).state == "needs_reconciliation"


def test_another_person_cannot_decide_past_an_open_proposal(row, amy, bob, books) -> None:
    decide(row, amy)
    for verdict in ("fulfilled", "failed"):
        with pytest.raises(VerdictRefused, match="approve it, or turn it down"):
            decide(row, bob, verdict)
    assert books.told == {}


def test_one_takes_back_what_one_proposed_and_may_propose_again(row, amy, bob) -> None:
    decide(row, amy)
    cases.withdraw(row.pk, actor=amy, proposal=proposal(row))
    with pytest.raises(VerdictRefused, match="not open any more"):
        approve(row, bob)
    decide(row, amy, "failed")
    assert approve(row, bob).state == "failed"


def test_the_second_person_may_turn_it_down_if_they_could_have_approved(row, amy, bob) -> None:
    decide(row, amy)
    with pytest.raises(NotAllowed):
        cases.withdraw(row.pk, actor=staff("eve", "resolve_failed"), proposal=proposal(row))
    down = cases.withdraw(row.pk, actor=bob, proposal=proposal(row))
    assert (down.action, down.actor, down.verdict) == ("withdrawn", "staff:bob", "fulfilled")
    with pytest.raises(VerdictRefused):
        cases.withdraw(row.pk, actor=bob, proposal=proposal(row))


def test_evidence_that_settles_it_voids_the_proposal_and_closes_the_case(
    row, amy, bob, books
) -> None:
    decide(row, amy, "failed")
    event(row, Finding.DONE)
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})
    assert said(row) == ["opened", "proposed", "voided", "closed"]
    with pytest.raises(Stale):
        approve(row, bob)


@pytest.mark.parametrize("source", [Source.WEBHOOK, Source.STATEMENT, Source.LOOKUP])
def test_new_evidence_that_settles_nothing_voids_the_proposal(
    row, amy, bob, books, source: Source
) -> None:
    decide(row, amy, "failed")
    event(row, Finding.ACCEPTED, source=source)
    assert said(row)[-1] == "voided"
    assert CaseAction.objects.get(action="voided").note.startswith("the provider said meanwhile")
    with pytest.raises(VerdictRefused, match="not open any more"):
        approve(row, bob)
    assert books.told == {}


def test_the_approvers_own_question_can_void_it(row, amy, bob, provider, books) -> None:
    decide(row, amy)
    provider.can_be_asked = True  # and it does not know the reference, which nobody knew before
    with pytest.raises(VerdictRefused, match="not open any more"):
        approve(row, bob)
    assert said(row)[-1] == "voided"
    assert books.told == {}


def test_the_same_answer_again_voids_nothing(row, amy, bob, provider, monkeypatch) -> None:
    provider.can_be_asked = True
    monkeypatch.setattr(provider, "look_up", lambda _: NotFound())
    due(row)
    lookups.look_up_due()
    decide(row, amy)
    due(row)
    lookups.look_up_due()
    assert approve(row, bob).state == "fulfilled"


def test_a_provider_that_cannot_be_asked_voids_nothing(row, amy, bob, provider) -> None:
    provider.can_be_asked = True
    decide(row, amy)
    provider.can_be_asked = False
    for _ in range(3):
        due(row)
        lookups.look_up_due()
    assert approve(row, bob).state == "fulfilled"


def test_the_fresh_answer_wins_over_both(row, amy, bob, provider, books, monkeypatch) -> None:
    decide(row, amy)
    provider.can_be_asked = True
    monkeypatch.setattr(provider, "look_up", lambda _: Declined(reason="closed"))
    with pytest.raises(VerdictRefused, match="asked just now and says: not done"):
        approve(row, bob)
    assert (now(row).state, books.told) == ("failed", {"failed": 1})


def test_a_row_that_moved_meanwhile_voids_the_proposal(row, amy, bob, provider) -> None:
    decide(row, amy)
    transitions.move(row, to=State.PENDING, actor="t", reason="t", next_check_at=store.now())
    moved = transitions.move(
        now(row), to=State.NEEDS_RECONCILIATION, actor="t", reason="t", next_check_at=store.now()
    )
    with pytest.raises(VerdictRefused, match="not open any more"):
        approve(moved, bob)
    assert "voided" in said(row)


def test_not_done_is_not_even_proposed_before_the_fence(provider, amy) -> None:
    provider.will.append("lose_request")
    fresh = start()
    attempt.run(fresh.pk)
    provider.can_be_asked = False
    with pytest.raises(VerdictRefused, match="may still be under way"):
        decide(now(fresh), amy, "failed")
    assert not Case.objects.exists()


def test_a_correction_above_the_limit_needs_two_as_well(provider, amy, bob, books) -> None:
    provider.will.append("decline")
    row = start()
    attempt.run(row.pk)
    provider.can_be_asked = False
    event(row, Finding.DONE)
    assert decide(now(row), amy).state == "failed"
    assert books.told == {"failed": 1}
    assert approve(now(row), bob).state == "fulfilled"
    assert books.told == {"failed": 1, "corrected": 1}


def test_leaving_a_verdict_as_it_is_moves_no_money_and_needs_one(provider, amy) -> None:
    row = start()
    attempt.run(row.pk)
    denied(row, provider)
    decide(now(row), amy, "fulfilled")
    assert Case.objects.get().closed_at is not None


def test_books_that_refuse_an_approval_leave_the_proposal_open(row, amy, bob, books) -> None:
    decide(row, amy)
    books.refuses = ValueError("no such account")
    with pytest.raises(HandlerFailed):
        approve(row, bob)
    books.refuses = None
    assert approve(now(row), bob).state == "fulfilled"
    assert books.told == {"fulfilled": 1}


@pytest.mark.parametrize("limits", [{"NGN": -1}, {"NGN": 1.5}, {"ngn": 1}, {"NGN": "1"}], ids=str)
def test_a_limit_that_cannot_be_read_is_refused_at_start(settings, limits: Any) -> None:
    settings.FULFILMENT = settings.FULFILMENT | {"SECOND_PERSON_ABOVE": limits}
    assert "fulfilment.E010" in [error.id for error in checks.settings_hold(None)]
