"""A late finisher with a dead token writes nothing but evidence."""

import pytest

from fulfilment.dispatch import attempt, sweep
from fulfilment.dispatch.claim import Claimed, claim
from fulfilment.errors import Stale
from fulfilment.models import Evidence, Transition
from fulfilment.reconcile import cases
from fulfilment.reconcile.reading import situation_of
from fulfilment.store import attempts
from tests.concurrency.fulfilments import at_once, scratch_database
from tests.integration.fulfilment.conftest import books, provider, world  # noqa: F401
from tests.integration.fulfilment.support import due, held, now, staff, start

pytestmark = pytest.mark.django_db(transaction=True)

NO_TOKEN = (
    "a late finisher ended the attempt of the worker that has the row now: "
    "the attempt token is missing from the statement that closes an attempt"
)


def two_attempts() -> tuple[Claimed, Claimed]:
    """One worker was taken for dead before its mark; another has the row now. Both come back."""
    row = start()
    gone = held(row, sent=False)
    late = Claimed(fulfilment=now(row), attempt=gone, before=situation_of(row), begun=0.0)
    sweep.sweep()
    due(row)
    holder = claim(row.pk, worker="worker:second")
    assert holder is not None
    assert attempt.mark(holder)
    return late, holder


def assert_holder_undisturbed(holder: Claimed) -> None:
    """The oracle: is the attempt of the worker that is calling still its own?"""
    current = holder.fulfilment.attempts.get(number=holder.attempt.number)
    assert current.closed_at is None, NO_TOKEN
    assert now(holder.fulfilment).state == "dispatching", NO_TOKEN


def finish_late(late: Claimed, provider) -> None:  # noqa: F811
    provider.books[late.fulfilment.reference] = late.fulfilment.amount
    attempt.settle(late, provider.done(late.fulfilment.reference))


def test_a_late_finisher_leaves_the_holders_attempt_alone_and_its_answer_is_kept(
    provider,  # noqa: F811
    books,  # noqa: F811
) -> None:
    late, holder = two_attempts()
    finish_late(late, provider)
    assert_holder_undisturbed(holder)
    assert not books.told, "the books were told while another worker has the row"
    assert Evidence.objects.filter(attempt=late.attempt, finding="done").exists(), (
        "the late answer was dropped"
    )
    attempt.settle(holder, attempt.send(holder))
    assert now(holder.fulfilment).state == "fulfilled"
    assert books.told == {"fulfilled": 1}


def test_with_one_token_for_all_attempts_the_oracle_names_it(provider) -> None:  # noqa: F811
    """In a scratch database where the token tells nobody apart, as if it were not there."""
    with scratch_database(
        "DROP TRIGGER fulfilment_attempt_guard ON fulfilment_attempt",
        "ALTER TABLE fulfilment_attempt DROP CONSTRAINT fulfilment_attempt_token_key",
    ):
        late, holder = two_attempts()
        late.fulfilment.attempts.update(token=late.attempt.token)
        finish_late(late, provider)
        with pytest.raises(AssertionError, match=NO_TOKEN):
            assert_holder_undisturbed(holder)


def test_without_the_token_in_the_statement_the_oracle_names_it(
    provider,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late, holder = two_attempts()
    blind = attempts.CLOSE.replace(
        "token = %(token)s",
        "fulfilment_id = (SELECT fulfilment_id FROM fulfilment_attempt WHERE token = %(token)s)",
    )
    monkeypatch.setattr(attempts, "CLOSE", blind)
    finish_late(late, provider)
    with pytest.raises(AssertionError, match=NO_TOKEN):
        assert_holder_undisturbed(holder)


def test_the_worker_and_the_sweeper_end_an_attempt_once(provider, books) -> None:  # noqa: F811
    """The lease is over at the moment at which the answer arrives."""
    for _ in range(10):
        row = start()
        gone = held(row, sent=True)
        provider.books[row.reference] = row.amount
        late = Claimed(fulfilment=now(row), attempt=gone, before=situation_of(row), begun=0.0)
        ended = at_once(
            lambda late=late, row=row: attempt.settle(late, provider.done(row.reference)),
            sweep.sweep,
        )
        assert not [e for e in ended if isinstance(e, BaseException)], ended
        assert now(row).state == "fulfilled", "between the two, the answer was lost"
    assert books.told == {"fulfilled": 10}, "an outcome reached the books twice"


def test_ten_clicks_on_one_verdict_are_one_posting(provider, books) -> None:  # noqa: F811
    row = start()
    held(row, sent=True)
    sweep.sweep()
    provider.can_be_asked = False
    senior, seen = staff("senior", "resolve_failed", "resolve_fulfilled"), now(row)

    def click(verdict: str):
        return lambda: cases.resolve(
            row.pk, actor=senior, verdict=verdict, evidence_reference="17", version=seen.version
        )

    clicks = at_once(*(click("failed" if n % 2 else "fulfilled") for n in range(10)))
    given, lost = now(row), [c for c in clicks if isinstance(c, BaseException)]
    # Five said what stands, one of them first; the others wanted another end.
    assert len(lost) == 5, f"{10 - len(lost)} clicks were told that their verdict stands"
    assert all(isinstance(error, Stale) for error in lost), lost
    assert {c.state for c in clicks if c not in lost} == {given.state}
    assert {c.version for c in clicks if c not in lost} == {given.version}, "a verdict was repeated"
    assert Transition.objects.filter(fulfilment=row, after=given.state).count() == 1
    assert sum(books.told.values()) == 1
