"""Money that reached somebody else is a conflict, whoever says it; what is kept names nobody whole."""

import pytest

from fulfilment.dispatch import attempt, sweep
from fulfilment.models import Case, Evidence
from fulfilment.reconcile import lookups
from fulfilment.reconcile.evidence import Finding
from tests.integration.fulfilment.support import due, event, held, now, start

pytestmark = pytest.mark.django_db(transaction=True)

OURS, THEIRS = "0123456789", "9923456789"  # with the same last digits


@pytest.fixture(autouse=True)
def named(provider) -> None:
    provider.expected = OURS
    provider.named = THEIRS


def assert_a_case(row, books) -> None:
    assert books.told == {}, "somebody else was paid, and the books say that it is done"
    assert now(row).state == "needs_reconciliation"
    case = Case.objects.get(fulfilment=row)
    assert case.reason == "conflict"
    assert "to another recipient" in case.actions.first().note


def test_the_calls_own_answer_names_somebody_else(books) -> None:
    row = start()
    attempt.run(row.pk)
    assert_a_case(row, books)


def test_a_look_up_names_somebody_else(provider, books) -> None:
    provider.will.extend(["lose_answer"])
    row = start()
    attempt.run(row.pk)
    due(row)
    lookups.look_up_due()
    assert_a_case(row, books)


def test_an_event_names_somebody_else(provider, books) -> None:
    row = start()
    held(row, sent=True)
    event(row, Finding.DONE, recipient=THEIRS)  # stored while the row is being sent
    provider.named = OURS

    sweep.sweep()
    assert_a_case(row, books)


def test_the_right_recipient_is_done(provider, books) -> None:
    provider.named = " ".join(["0123", "456", "789"])
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"


@pytest.mark.parametrize("side", ["expected", "named"])
def test_where_one_side_names_nobody_nothing_is_compared(provider, books, side: str) -> None:
    setattr(provider, side, "")
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"


def test_a_reversal_from_somebody_else_after_the_verdict_is_a_conflict(provider, books) -> None:
    provider.named = OURS
    row = start()
    attempt.run(row.pk)
    event(row, Finding.REVERSED, recipient=THEIRS)
    assert now(row).state == "fulfilled"
    assert Case.objects.get(fulfilment=row).reason == "conflict"


def test_only_the_last_digits_are_kept(books) -> None:
    row = start()
    attempt.run(row.pk)
    assert Evidence.objects.get(fulfilment=row).recipient == "******6789"


def test_a_connector_that_cannot_name_ours_compares_nothing_and_says_so(
    provider, books, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise KeyError("account")

    monkeypatch.setattr("tests.integration.fulfilment.support.InMemory.recipient", broken)
    row = start()
    attempt.run(row.pk)
    assert now(row).state == "fulfilled"
    assert "recipient_not_compared" in [getattr(r, "action", "") for r in caplog.records]
