"""When a case opens and closes, and what stays on it."""

from datetime import timedelta
from typing import Any

import pytest

from fulfilment import store
from fulfilment.connectors.base import Dedupe
from fulfilment.dispatch import attempt, sweep
from fulfilment.errors import NoCase
from fulfilment.models import Case, CaseAction, Fulfilment
from fulfilment.reconcile import cases, lookups
from fulfilment.reconcile.evidence import Finding
from tests.integration.fulfilment.support import denied, due, event, held, now, staff, start

pytestmark = pytest.mark.django_db

ALL = ("resolve_fulfilled", "resolve_failed", "ask_provider")


@pytest.fixture
def row(provider) -> Fulfilment:
    """Unknown for two hours."""
    row = start()
    held(row, sent=True)
    sweep.sweep()
    return now(row)


@pytest.fixture
def senior():
    return staff("senior", *ALL)


def words(row: Fulfilment) -> list[str]:
    actions = CaseAction.objects.filter(case__fulfilment=row).order_by("id")
    return list(actions.values_list("action", flat=True))


def decide(row: Fulfilment, actor: Any, verdict: str, **given: Any) -> Fulfilment:
    asked = {"evidence_reference": "statement 17", "note": "seen", "version": row.version}
    return cases.resolve(row.pk, actor=actor, verdict=verdict, **(asked | given))


class TestOpening:
    def test_at_the_connectors_deadline(self, row, settings) -> None:
        due(row)
        lookups.look_up_due()
        assert not Case.objects.exists()
        settings.FULFILMENT = settings.FULFILMENT | {"CASE_DEADLINE": timedelta(hours=1)}
        due(row)
        lookups.look_up_due()
        assert Case.objects.get().reason == "deadline"

    def test_at_four_fifths_of_the_dedupe_window_if_that_is_sooner(self, row, provider) -> None:
        provider.promises(dedupe=Dedupe.KEY_WINDOW, dedupe_window=timedelta(hours=2, minutes=29))
        due(row)
        lookups.look_up_due()
        case = Case.objects.get()
        assert case.reason == "deadline"
        assert now(row).state == "needs_reconciliation", "the checks do not go on meanwhile"

    def test_at_once_where_the_provider_cannot_be_asked(self, provider) -> None:
        provider.promises(lookup_by_reference=False)
        provider.will.append("lose_answer")
        row = start()
        attempt.run(row.pk)
        assert now(row).state == "needs_reconciliation"
        assert Case.objects.get().reason == "cannot_ask"
        assert now(row).next_check_at > store.now(), "nothing looks at it any more"

    def test_a_blind_row_is_sent_again_under_its_case_and_closes_it(self, provider, books) -> None:
        provider.promises(lookup_by_reference=False)
        row = start()
        held(row, sent=True)
        sweep.sweep()
        assert (now(row).state, Case.objects.get().reason) == ("pending", "cannot_ask")
        due(row)
        attempt.run(row.pk)
        assert now(row).state == "fulfilled"
        assert Case.objects.get().closed_at is not None

    def test_a_contradiction_joins_the_case_that_is_open(self, row, senior) -> None:
        cases.open(row, actor=senior, note="the customer called")
        event(row, Finding.DONE, amount=1)
        event(row, Finding.DONE, amount=1)
        notes = list(CaseAction.objects.filter(action="noted").values_list("note", flat=True))
        assert len(notes) == 1, f"the same finding was noted {len(notes)} times"
        assert "the provider says done, with another amount or currency" in notes[0]


class TestThePersonsOwnWords:
    def test_they_stay_where_the_fresh_answer_settled_it_as_wanted(
        self, row, senior, provider, books
    ) -> None:
        provider.books[row.reference] = row.amount
        decide(row, senior, "fulfilled", note="seen on page 3")
        kept = CaseAction.objects.get(action="confirmed")
        assert (kept.actor, kept.verdict, kept.evidence_reference, kept.note) == (
            "staff:senior",
            "fulfilled",
            "statement 17",
            "seen on page 3",
        )
        assert words(row) == ["opened", "confirmed", "closed"]
        assert row.transitions.order_by("-version").first().actor == "resolver"
        assert books.told == {"fulfilled": 1}

    def test_they_go_to_the_case_that_was_open(self, row, senior, provider) -> None:
        cases.open(row, actor=senior)
        provider.books[row.reference] = row.amount
        decide(row, senior, "fulfilled")
        assert Case.objects.count() == 1
        assert words(row) == ["opened", "closed", "confirmed"]


class TestWorkingOnIt:
    def test_taking_and_giving_back_have_words_of_their_own(self, row, senior) -> None:
        cases.take(row, actor=senior)
        cases.release(row, actor=senior)
        assert words(row) == ["opened", "taken", "released"]
        assert Case.objects.get().owner is None

    def test_what_is_so_already_leaves_no_second_trace(self, row, senior) -> None:
        other = staff("amy", *ALL)
        cases.take(row, actor=senior)
        before = Case.objects.get().version
        cases.take(row, actor=senior)
        cases.release(row, actor=other)
        assert (words(row), Case.objects.get().version) == (["opened", "taken"], before)
        assert Case.objects.get().owner == senior, "somebody else gave the case back"

    @pytest.mark.parametrize("step", [cases.take, cases.release, cases.note])
    def test_nothing_opens_a_case_on_a_decided_row(self, row, senior, step) -> None:
        event(row, Finding.DONE)
        more = {"note": "by the way"} if step is cases.note else {}
        with pytest.raises(NoCase, match="Open a case first"):
            step(row, actor=senior, **more)
        assert not Case.objects.exists()

    def test_a_case_that_is_open_on_a_decided_row_can_be_worked_on(
        self, row, senior, provider
    ) -> None:
        event(row, Finding.DONE)
        denied(row, provider)
        cases.take(row, actor=senior)
        cases.note(row, actor=senior, note="called the bank")
        assert words(row) == ["opened", "taken", "noted"]
