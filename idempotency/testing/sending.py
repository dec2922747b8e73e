"""The same request again, and two at once: what every guarded view has to survive."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

from idempotency import conf
from idempotency.testing.answers import Told, told

R = TypeVar("R")

_PATIENCE = 30.0  # seconds; a request that takes longer hangs


def replay(send: Callable[[], R], *, effects: Callable[[], object] | None = None) -> R:
    """Send a request twice: the second must be a replay of the first. Returns the second answer.

    `send` sends the same request each time it is called, with the same key. `effects` counts what
    the handler leaves behind (`Order.objects.count`); it must not change with the second request.
    Raises AssertionError with what went wrong.
    """
    first = told(send())
    count = effects() if effects else None
    answer = send()
    second = told(answer)
    if effects is not None and (now := effects()) != count:
        raise AssertionError(f"applied twice: {count!r} became {now!r} with the second request")
    _same(first, second)
    return answer


def at_once(
    *calls: Callable[[], R], times: int = 2, effects: Callable[[], int] | None = None
) -> list[R]:
    """Send requests with one key at the same moment, each on a thread and a connection of its own.

    One call is sent `times` times, several once each. Exactly one may run the handler; the others
    get 409 `in_progress`, a replay of its answer or, if they ask for something else, 422
    `key_reused`. With `effects` (`Order.objects.count`) the database is asked as well: one more
    than before. Returns the answers in the order of the calls.
    Raises AssertionError with what went wrong.
    """
    _refuse_open_transaction()
    racing = calls * times if len(calls) == 1 else calls
    before = effects() if effects else 0
    answers = _raced(racing)
    _one_ran([told(answer) for answer in answers])
    if effects is not None and (more := effects() - before) != 1:
        raise AssertionError(f"one answered as if it ran, and {more} were applied")
    return answers


def _same(first: Told, second: Told) -> None:
    if first.replayed:
        raise AssertionError("the first answer is a replay already: give the test a key of its own")
    if not second.replayed:
        raise AssertionError(_not_replayed(first, second))
    if (first.status, first.body) != (second.status, second.body):
        raise AssertionError(f"another answer is replayed: {first}, then {second}")
    _same_headers(first, second)


def _not_replayed(first: Told, second: Told) -> str:
    if not first.fresh:
        return f"the first request was not carried out: it answered {first}"
    if second.fresh:
        return (
            f"the handler ran twice: the second answer ({second}) is no replay. "
            "Is @idempotent on this very method, below @api_view, and do both requests have one key?"
        )
    return (
        f"the second request got {second} instead of a replay of {first}. A 5xx, a 409, a 429 "
        "and input that cannot be read are not stored; a deferred key is open until complete()."
    )


def _same_headers(first: Told, second: Told) -> None:
    for name in map(str.lower, conf.current().headers):
        if first.headers.get(name) != second.headers.get(name):
            raise AssertionError(
                f"the replay has another {name}: {second.headers.get(name)!r} "
                f"instead of {first.headers.get(name)!r}"
            )


def _refuse_open_transaction() -> None:
    if connections[conf.current().database].in_atomic_block:
        raise AssertionError(
            "this test runs in a transaction, so other connections see nothing of it: use "
            "TransactionTestCase or @pytest.mark.django_db(transaction=True)"
        )


def _raced(calls: Sequence[Callable[[], R]]) -> list[R]:
    barrier = threading.Barrier(len(calls))

    def one(call: Callable[[], R]) -> R:
        try:
            barrier.wait(_PATIENCE)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        started = [pool.submit(one, call) for call in calls]
        return [future.result(_PATIENCE) for future in started]


def _one_ran(answers: Sequence[Told]) -> None:
    said = ", ".join(map(str, answers))
    fresh = [answer for answer in answers if answer.fresh]
    if len(fresh) > 1:
        raise AssertionError(
            f"{_number(len(fresh))} ran: the view is not guarded, the requests have different keys, "
            f"or the primary key on idempotency_keys is missing. The answers: {said}"
        )
    if not fresh:
        raise AssertionError(
            "none ran: is the app installed and migrated, is the caller signed in, and is the key "
            f"new? The answers: {said}"
        )
    for answer in answers:
        if answer.status >= 500 and answer.code != "unavailable":
            raise AssertionError(f"one ran, but another request hit an error. The answers: {said}")
        if answer.replayed and (answer.status, answer.body) != (fresh[0].status, fresh[0].body):
            raise AssertionError(f"a replay differs from the answer of the one that ran: {said}")


def _number(count: int) -> str:
    return "two" if count == 2 else str(count)
