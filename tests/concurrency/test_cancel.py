"""A customer who cancels meets the worker that sends: one of them gets there, never both."""

from functools import partial

import pytest

from fulfilment import NotCancellable, cancel
from fulfilment.dispatch import attempt
from fulfilment.models import Fulfilment
from tests.concurrency.fulfilments import at_once
from tests.integration.fulfilment.conftest import books, provider, world  # noqa: F401
from tests.integration.fulfilment.support import now, path, start

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 50
BOTH = (
    "it was cancelled and sent: the guard and the move are no longer one statement under the "
    "row's lock, or the dispatcher claims without it"
)


def take_back(row: Fulfilment) -> Fulfilment:
    return cancel(row.payment_id, actor="user:ada", reason="the customer cancelled it")


def test_cancelling_and_sending_at_once_is_one_of_the_two(provider, books) -> None:  # noqa: F811
    ended: list[str] = []
    for _ in range(ROUNDS):
        row = start()
        works = [partial(attempt.run, row.pk, worker="worker:a"), partial(take_back, row)]
        sent, cancelled = at_once(*works)
        assert not isinstance(sent, BaseException), sent
        state = now(row).state
        calls = provider.sends.count(row.reference)
        assert (state, calls) in {("cancelled", 0), ("fulfilled", 1)}, f"{BOTH}: {state}, {calls}"
        assert isinstance(cancelled, NotCancellable) is (state == "fulfilled"), cancelled
        ended.append(state)
    told = {state: ended.count(state) for state in set(ended)}
    assert books.told == told, f"the books heard {books.told} of {told}"


def test_two_who_cancel_at_once_both_succeed_and_the_books_hear_it_once(books) -> None:  # noqa: F811
    for _ in range(10):
        row = start()
        both = at_once(*[partial(take_back, row)] * 2)
        assert [getattr(one, "state", one) for one in both] == ["cancelled"] * 2
        assert path(row) == ["pending", "cancelled"]
    assert books.told == {"cancelled": 10}
