"""People who decide at the same moment: one verdict, one posting, whatever they click and how often."""

from functools import partial
from typing import Any

import pytest

from fulfilment.dispatch import sweep
from fulfilment.errors import FulfilmentError, Stale, VerdictRefused
from fulfilment.models import CaseAction, Fulfilment, Transition
from fulfilment.reconcile import cases
from fulfilment.reconcile.evidence import Finding
from tests.concurrency.fulfilments import at_once
from tests.integration.fulfilment.conftest import books, provider, world  # noqa: F401
from tests.integration.fulfilment.support import event, held, now, path, staff, start

pytestmark = pytest.mark.django_db(transaction=True)

ALL = ("resolve_fulfilled", "resolve_failed", "correct_failed")
TWICE = "the books were told {0}: the row's lock or the version no longer guards the verdict"


@pytest.fixture
def row(settings: Any, provider) -> Fulfilment:  # noqa: F811
    """Unknown, and above the limit of one person."""
    settings.FULFILMENT = settings.FULFILMENT | {"SECOND_PERSON_ABOVE": {"NGN": 1}}
    row = start()
    held(row, sent=True)
    sweep.sweep()
    provider.can_be_asked = False
    return now(row)


def decide(row: Fulfilment, actor: Any, verdict: str = "fulfilled") -> Fulfilment:
    return cases.resolve(
        row.pk,
        actor=actor,
        verdict=verdict,
        evidence_reference="statement 17",
        note="seen",
        version=row.version,
    )


def refused(results: list[Any]) -> list[Any]:
    return [r for r in results if isinstance(r, FulfilmentError)]


def test_two_people_who_approve_at_once_decide_once(row, books) -> None:  # noqa: F811
    people = [staff(name, *ALL) for name in ("amy", "bob", "cleo")]
    decide(row, people[0])
    proposal = CaseAction.objects.get(action="proposed").pk
    approving = [
        partial(cases.approve, row.pk, actor=person, proposal=proposal, version=row.version)
        for person in people[1:]
    ]
    results = at_once(*approving)
    assert books.told == {"fulfilled": 1}, TWICE.format(books.told)
    [loser] = refused(results)
    assert isinstance(loser, Stale | VerdictRefused), loser
    assert CaseAction.objects.filter(action="approved").count() == 1


def test_ten_clicks_on_approve_decide_once(row, books) -> None:  # noqa: F811
    amy, bob = staff("amy", *ALL), staff("bob", *ALL)
    decide(row, amy)
    proposal = CaseAction.objects.get(action="proposed").pk
    click = partial(cases.approve, row.pk, actor=bob, proposal=proposal, version=row.version)
    results = at_once(*[click] * 10)
    assert books.told == {"fulfilled": 1}, TWICE.format(books.told)
    assert len(refused(results)) == 9, results
    assert path(row)[-1] == "fulfilled"


def test_ten_clicks_on_propose_are_one_proposal(row) -> None:
    results = at_once(*[partial(decide, row, staff("amy", *ALL))] * 10)
    assert CaseAction.objects.filter(action="proposed").count() == 1, results
    assert len(refused(results)) == 9, results


def test_an_approval_and_a_withdrawal_at_once_are_one_of_the_two(row, books) -> None:  # noqa: F811
    amy, bob = staff("amy", *ALL), staff("bob", *ALL)
    decide(row, amy)
    proposal = CaseAction.objects.get(action="proposed").pk
    at_once(
        partial(cases.approve, row.pk, actor=bob, proposal=proposal, version=row.version),
        partial(cases.withdraw, row.pk, actor=amy, proposal=proposal),
    )
    taken = CaseAction.objects.filter(action__in=("approved", "withdrawn"))
    [action] = taken.values_list("action", flat=True)
    assert books.told == ({"fulfilled": 1} if action == "approved" else {})


def test_ten_clicks_on_a_correction_post_once(settings: Any, provider, books) -> None:  # noqa: F811
    amy = staff("amy", *ALL)
    row = start()
    held(row, sent=True)
    sweep.sweep()
    provider.can_be_asked = False
    decide(now(row), amy, "failed")
    event(row, Finding.DONE)
    results = at_once(*[partial(decide, now(row), amy)] * 10)
    assert books.told == {"failed": 1, "corrected": 1}, TWICE.format(books.told)
    assert not refused(results), "the same verdict at the same moment was refused"
    assert len({decided.version for decided in results}) == 1, results
    assert CaseAction.objects.filter(action="corrected").count() == 1


def test_ten_clicks_that_find_it_paid_twice_post_once(provider, books) -> None:  # noqa: F811
    amy = staff("amy", *ALL)
    row = start()
    held(row, sent=True)
    sweep.sweep()
    provider.can_be_asked = False
    decide(now(row), amy, "failed")
    books.twin = "a later transfer"
    event(row, Finding.DONE)
    results = at_once(*[partial(decide, now(row), amy)] * 10)
    assert books.told == {"failed": 1, "twice": 1}, TWICE.format(books.told)
    assert len(refused(results)) == 9, results


def test_ten_clicks_that_the_providers_answer_settles_keep_the_persons_words_once(
    row,
    provider,  # noqa: F811
    books,  # noqa: F811
) -> None:
    amy = staff("amy", *ALL)
    provider.can_be_asked = True
    provider.books[row.reference] = row.amount
    at_once(*[partial(decide, row, amy)] * 10)
    assert books.told == {"fulfilled": 1}, TWICE.format(books.told)
    assert CaseAction.objects.filter(action="confirmed").count() == 1


def test_ten_events_of_one_reversal_at_once_reverse_once(provider, books) -> None:  # noqa: F811
    row = start()
    held(row, sent=True)
    sweep.sweep()
    event(now(row), Finding.DONE)
    at_once(*[partial(event, now(row), Finding.REVERSED)] * 10)
    assert books.told == {"fulfilled": 1, "reversed": 1}, TWICE.format(books.told)
    assert Transition.objects.filter(fulfilment=row, after="reversed").count() == 1
