"""A case that is open learns what is found later, once, and is called by what is gravest."""

import pytest

from fulfilment.connectors.base import Done
from fulfilment.dispatch import sweep
from fulfilment.models import Case, CaseReason, Fulfilment
from fulfilment.reconcile import casebook, cases, lookups
from tests.integration.fulfilment.support import due, held, now, staff, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def row(provider) -> Fulfilment:
    provider.can_be_asked = False
    row = start()
    held(row, sent=True)
    sweep.sweep()
    return now(row)


def _open(row: Fulfilment, reason: CaseReason, note: str = "") -> Case:
    return casebook.open_case(row, reason=reason, actor="resolver", note=note)


def record(case: Case) -> list[tuple[str, str]]:
    return list(case.actions.order_by("id").values_list("action", "note"))


@pytest.mark.parametrize("graver", [CaseReason.CONFLICT, CaseReason.HANDLER_FAILED])
@pytest.mark.parametrize("first", [CaseReason.DEADLINE, CaseReason.PENDING_TOO_LONG])
def test_a_graver_reason_is_written_down_and_names_the_case(row, first, graver) -> None:
    case = _open(row, first)
    _open(row, graver, "the provider says both")
    assert record(case) == [
        ("opened", first.label),
        ("noted", f"{graver.label}: the provider says both"),
    ], "the second reason was dropped"
    assert Case.objects.get().reason == graver


def test_a_lesser_reason_is_written_down_and_does_not_hide_the_graver(row) -> None:
    case = _open(row, CaseReason.CONFLICT, "both")
    _open(row, CaseReason.DEADLINE)
    assert Case.objects.get().reason == "conflict"
    assert record(case)[1:] == [("noted", CaseReason.DEADLINE.label)]


def test_what_every_check_finds_again_is_written_once(row) -> None:
    case = _open(row, CaseReason.DEADLINE)
    for _ in range(3):
        _open(row, CaseReason.CONFLICT, "both")
        _open(row, CaseReason.DEADLINE)
    assert len(record(case)) == 2, "the record fills up with what it says already"
    assert Case.objects.get().version == 1


def test_another_conflict_on_the_same_case_is_written_down(row) -> None:
    case = _open(row, CaseReason.CONFLICT, "another amount")
    _open(row, CaseReason.CONFLICT, "two payments")
    assert [note.rpartition(": ")[2] for _, note in record(case)] == [
        "another amount",
        "two payments",
    ]


def test_a_person_who_opens_an_open_case_leaves_the_note_on_it(row) -> None:
    case = _open(row, CaseReason.DEADLINE)
    cases.open(row, actor=staff("agent", "ask_provider"), note="the customer called")
    assert record(case)[1:] == [("noted", "the customer called")]
    assert Case.objects.get().reason == "deadline"


def test_a_wrong_amount_that_comes_after_the_deadline_shows_in_the_queue(
    row, provider, monkeypatch
) -> None:
    _open(row, CaseReason.DEADLINE)
    monkeypatch.setattr(provider, "look_up", lambda _: Done(amount=1, currency="NGN"))
    due(row)
    lookups.look_up_due()
    assert Case.objects.get().reason == "conflict", "the queue still says that nobody knows"
