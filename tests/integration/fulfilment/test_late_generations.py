"""An earlier reference turns out to be paid while a newer one lives: nothing is paid by us again."""

from typing import Any

import pytest

from fulfilment.dispatch import attempt
from fulfilment.errors import VerdictRefused
from fulfilment.models import Case, Fulfilment
from fulfilment.reconcile import cases, lookups
from fulfilment.reconcile.evidence import Finding
from tests.integration.fulfilment.support import due, event, now, path
from tests.integration.fulfilment.test_generations import again, newest, senior, unknown

__all__ = ["senior", "unknown"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def second(unknown, senior) -> Fulfilment:
    """The payment's second reference, not sent yet."""
    again(unknown, senior)
    return newest(unknown)


def correct(row: Fulfilment, actor: Any) -> Fulfilment:
    row = now(row)
    return cases.resolve(
        row.pk, actor=actor, verdict="fulfilled", evidence_reference="s", version=row.version
    )


def test_the_newer_reference_is_stopped_before_it_is_sent(
    unknown, second, provider, django_capture_on_commit_callbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        event(unknown, Finding.DONE)
    assert now(second).state == "needs_reconciliation"
    assert second.cases.get(closed_at__isnull=True).reason == "conflict"
    attempt.run(second.pk)
    assert second.reference not in provider.sends, "the newer reference was sent beside a payment"


def test_a_claim_that_comes_first_asks_once_more_and_sends_nothing(
    unknown, second, provider
) -> None:
    event(unknown, Finding.DONE)  # and its process dies before it has looked at the newer one
    assert now(second).state == "pending"
    attempt.run(second.pk)
    assert second.reference not in provider.sends, "sent although the earlier one was paid"
    assert path(second) == ["pending", "dispatching", "needs_reconciliation"]
    assert second.attempts.get().sent_at is None, "marked, although it must not be sent"
    assert "an earlier reference" in now(second).reason


def test_a_stopped_reference_stays_stopped_however_often_it_is_looked_at(
    unknown, second, provider
) -> None:
    event(unknown, Finding.DONE)
    attempt.run(second.pk)
    provider.can_be_asked = True
    for _ in range(4):
        due(second)
        lookups.look_up_due()
    assert now(second).state == "needs_reconciliation"
    assert second.reference not in provider.sends


def test_the_payment_ends_as_done_once_and_the_newer_reference_is_given_up(
    unknown, second, senior, books, provider
) -> None:
    event(unknown, Finding.DONE)
    attempt.run(second.pk)
    assert correct(unknown, senior).state == "fulfilled"
    assert (now(second).state, books.told) == ("failed", {"fulfilled": 1})
    assert not Case.objects.filter(closed_at__isnull=True).exists()
    assert second.reference not in provider.sends


def test_a_newer_one_that_waits_is_given_up_as_well(unknown, second, senior, books) -> None:
    event(unknown, Finding.DONE)
    correct(unknown, senior)
    assert path(second) == ["pending", "needs_reconciliation", "failed"]
    assert books.told == {"fulfilled": 1}


def test_while_the_newer_one_may_be_paid_nobody_decides_the_older(
    unknown, second, senior, provider, books
) -> None:
    provider.will.append("lose_answer")
    attempt.run(second.pk)
    event(unknown, Finding.DONE)
    with pytest.raises(VerdictRefused, match="may have been paid as well"):
        correct(unknown, senior)
    assert not books.told


def test_both_are_paid_and_the_second_one_is_on_record_as_paid_twice(
    unknown, second, senior, provider, books
) -> None:
    attempt.run(second.pk)
    event(unknown, Finding.DONE)
    assert correct(unknown, senior).state == "failed"
    assert books.told == {"fulfilled": 1, "twice": 1}
    case = unknown.cases.get(closed_at__isnull=True)
    assert case.reason == "paid_twice"
    assert second.reference in case.actions.get(action="opened").note


def test_a_failure_of_the_newer_one_is_not_told_while_the_older_may_be_paid(
    unknown, second, books
) -> None:
    event(unknown, Finding.DONE)
    event(second, Finding.NOT_DONE)
    assert now(second).state == "needs_reconciliation"
    assert not books.told, "the customer was told to try again of what is paid"


def test_what_a_person_leaves_as_failed_lets_the_newer_one_go_on(
    unknown, second, senior, provider, books
) -> None:
    event(unknown, Finding.DONE)
    attempt.run(second.pk)
    row = now(unknown)
    cases.resolve(
        row.pk,
        actor=senior,
        verdict="failed",
        evidence_reference="their error",
        version=row.version,
    )
    due(second)
    lookups.look_up_due()
    due(second)
    attempt.run(second.pk)
    assert (now(second).state, books.told) == ("fulfilled", {"fulfilled": 1})
