"""Late truth after a failure: kept, shown to a person, and never applied silently."""

from typing import Any

import pytest

from fulfilment import Corrected, Handlers, handlers
from fulfilment.connectors.base import Declined
from fulfilment.dispatch import attempt
from fulfilment.errors import HandlerFailed, NoCase, NotAllowed, VerdictRefused
from fulfilment.models import Case, CaseAction, Evidence, Fulfilment
from fulfilment.reconcile import cases
from fulfilment.reconcile.evidence import Finding
from fulfilment.states import State, reference_of
from tests.integration.fulfilment.support import denied, event, now, path, staff, start
from tests.integration.fulfilment.walk import walked

pytestmark = pytest.mark.django_db

ALL = ("resolve_fulfilled", "resolve_failed", "correct_failed", "ask_provider")


@pytest.fixture
def senior():
    return staff("senior", *ALL)


@pytest.fixture
def failed(provider) -> Fulfilment:
    """Declined by the provider, and told so; from now on it cannot be asked."""
    provider.will.append("decline")
    row = start()
    attempt.run(row.pk)
    provider.can_be_asked = False
    return now(row)


def decide(row: Fulfilment, actor: Any, verdict: str = "fulfilled", **given: Any) -> Fulfilment:
    asked = {"evidence_reference": "statement 17", "note": "seen", "version": row.version}
    return cases.resolve(row.pk, actor=actor, verdict=verdict, **(asked | given))


def test_a_success_after_a_failure_is_kept_and_alerts_and_moves_nothing(
    failed, books, caplog
) -> None:
    said = event(failed, Finding.DONE)
    assert (now(failed).state, books.told) == ("failed", {"failed": 1})
    assert Evidence.objects.filter(pk=said.pk).exists()
    case = Case.objects.get()
    assert (case.reason, case.closed_at) == ("conflict", None)
    assert "the provider says done" in case.actions.get(action="opened").note
    assert [r for r in caplog.records if getattr(r, "action", "") == "verdict_contradicted"]


def test_a_person_corrects_it_through_the_case_on_named_evidence(failed, senior, books) -> None:
    event(failed, Finding.DONE)
    corrected = decide(failed, senior)
    assert path(corrected)[-2:] == ["failed", "fulfilled"]
    assert books.told == {"failed": 1, "corrected": 1}
    move = failed.transitions.order_by("-version").first()
    assert (move.actor, move.evidence.source) == ("staff:senior", "person")
    case = Case.objects.get()
    assert case.closed_by == "staff:senior"
    action = case.actions.get(action="corrected")
    assert (action.verdict, action.evidence_reference, action.note) == (
        "fulfilled",
        "statement 17",
        "seen",
    )
    assert case.actions.get(action="noted").note == "taken from the customer"


def test_what_did_not_fit_gets_a_case_of_its_own(failed, senior, books) -> None:
    books.corrected = Corrected(note="4.00 went to suspense", unsettled=True)
    event(failed, Finding.DONE)
    decide(failed, senior)
    left = Case.objects.get(closed_at__isnull=True)
    assert (left.reason, left.opened_by) == ("suspense", "system")
    assert "4.00 went to suspense" in left.actions.get(action="opened").note


@pytest.mark.parametrize("permissions", [("resolve_fulfilled", "resolve_failed"), ()], ids=str)
def test_it_needs_a_permission_of_its_own(failed, permissions) -> None:
    event(failed, Finding.DONE)
    with pytest.raises(NotAllowed, match=r"fulfilment\.correct_failed"):
        decide(failed, staff("agent", *permissions, superuser=True))
    assert now(failed).state == "failed"


def test_without_an_open_case_there_is_nothing_to_correct(failed, senior, books) -> None:
    with pytest.raises(NoCase, match="Open a case first"):
        decide(failed, senior)
    assert books.told == {"failed": 1}


def test_a_case_that_an_agent_opened_will_do(failed, senior) -> None:
    cases.open(failed, actor=senior, note="the payee has sent a receipt")
    assert decide(failed, senior).state == "fulfilled"


def test_the_fresh_answer_counts_against_a_correction_too(
    failed, senior, provider, books, monkeypatch
) -> None:
    event(failed, Finding.DONE)
    provider.can_be_asked = True
    monkeypatch.setattr(provider, "look_up", lambda _: Declined(reason="closed"))
    with pytest.raises(VerdictRefused, match="asked just now and says: not done"):
        decide(failed, senior)
    assert books.told == {"failed": 1}


def test_the_second_click_corrects_nothing(failed, senior, books) -> None:
    event(failed, Finding.DONE)
    first = decide(failed, senior)
    again = decide(failed, senior)
    assert (again.version, again.decided_at) == (first.version, first.decided_at)
    assert CaseAction.objects.filter(action="corrected").count() == 1
    assert books.told == {"failed": 1, "corrected": 1}


def test_a_later_payment_that_lives_makes_it_paid_twice(failed, senior, books, caplog) -> None:
    books.twin = "the customer's later transfer"
    event(failed, Finding.DONE)
    row = decide(failed, senior)
    assert (row.state, books.told) == ("failed", {"failed": 1, "twice": 1})
    found = Case.objects.get(closed_at__isnull=True)
    assert found.reason == "paid_twice"
    note = found.actions.get(action="opened").note
    assert "the customer's later transfer" in note
    assert "in suspense" in note
    assert [r for r in caplog.records if getattr(r, "action", "") == "paid_twice"]


def test_a_newer_generation_that_lives_makes_it_paid_twice(failed, senior, books) -> None:
    Fulfilment.objects.create(
        kind=failed.kind,
        event_id=failed.event_id,
        payment_id=failed.payment_id,
        generation=2,
        reference=reference_of(failed.payment_id, connector="memory", generation=2),
        connector="memory",
        amount=failed.amount,
        currency=failed.currency,
        next_check_at=failed.created_at,
        created_at=failed.created_at,
        state_changed_at=failed.created_at,
    )
    walked(Fulfilment.objects.get(generation=2), State.FULFILLED)
    event(failed, Finding.DONE)
    assert decide(failed, senior).state == "failed"
    assert books.told == {"failed": 1, "twice": 1}


def test_it_is_recorded_as_paid_twice_once(failed, senior, books) -> None:
    books.twin = "the customer's later transfer"
    event(failed, Finding.DONE)
    for _ in range(2):
        event(failed, Finding.DONE, provider_id="pay_9")
    decide(failed, senior)
    for _ in range(2):
        with pytest.raises(VerdictRefused, match="paid twice already"):
            decide(now(failed), senior)
    assert books.told == {"failed": 1, "twice": 1}


def test_books_that_refuse_a_correction_leave_the_failure_and_a_note(failed, senior, books) -> None:
    event(failed, Finding.DONE)
    books.refuses = ValueError("look again")
    with pytest.raises(HandlerFailed, match="look again"):
        decide(failed, senior)
    assert now(failed).state == "failed"
    case = Case.objects.get()
    assert case.closed_at is None
    assert case.actions.filter(action="noted", note__contains="tried “fulfilled”").exists()
    assert not Evidence.objects.filter(source="person").exists()


def test_a_kind_that_takes_no_corrections_says_so(failed, senior, books, monkeypatch) -> None:
    plain = books.handlers()
    monkeypatch.setitem(
        handlers._registered,
        "test",
        Handlers(
            on_fulfilled=plain.on_fulfilled,
            on_failed=plain.on_failed,
            on_reversed=plain.on_reversed,
        ),
    )
    event(failed, Finding.DONE)
    with pytest.raises(VerdictRefused, match="take no corrections"):
        decide(failed, senior)


class TestLeavingItAsItIs:
    def test_a_failure_that_stands_closes_its_case_and_moves_nothing(
        self, failed, senior, books
    ) -> None:
        event(failed, Finding.DONE)
        decide(failed, senior, "failed", note="another payment of theirs")
        assert (now(failed).version, books.told) == (failed.version, {"failed": 1})
        case = Case.objects.get()
        assert case.closed_by == "staff:senior"
        action = case.actions.get(action="upheld")
        assert (action.evidence_reference, action.note) == (
            "statement 17",
            "another payment of theirs",
        )

    def test_a_success_that_was_denied_later_stands(self, senior, provider, books) -> None:
        row = start()
        attempt.run(row.pk)
        denied(row, provider)
        provider.questions.clear()
        decide(now(row), senior, "fulfilled")
        assert Case.objects.get().closed_at is not None
        assert books.told == {"fulfilled": 1}
        assert not provider.questions, "nobody has to be asked to leave it as it is"

    def test_what_was_paid_is_never_undone_by_hand(self, senior, provider, books) -> None:
        row = start()
        attempt.run(row.pk)
        event(row, Finding.NOT_DONE)
        with pytest.raises(VerdictRefused, match="no verdict to give by hand"):
            decide(now(row), senior, "failed")
        assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})

    def test_it_needs_the_permission_of_the_verdict_that_stands(self, failed) -> None:
        event(failed, Finding.DONE)
        with pytest.raises(NotAllowed, match=r"fulfilment\.resolve_failed"):
            decide(failed, staff("agent", "correct_failed"), "failed")

    def test_without_a_case_it_stands_and_nothing_is_written(self, failed, senior) -> None:
        assert decide(failed, senior, "failed").version == failed.version
        assert not CaseAction.objects.exists()

    def test_a_later_contradiction_opens_it_again(self, failed, senior) -> None:
        event(failed, Finding.DONE)
        decide(failed, senior, "failed")
        event(failed, Finding.DONE)
        assert Case.objects.filter(closed_at__isnull=True).count() == 1
