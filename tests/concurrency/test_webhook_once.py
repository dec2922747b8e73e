"""Deliveries at once, on real threads and connections: one event, one effect, 200 for everybody."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

import fulfilment
from fulfilment import Event
from fulfilment.models import Evidence, Fulfilment, ProviderEvent, ProviderEventConflict
from fulfilment.webhooks import applying
from tests.integration.fulfilment.support import Books, Provider, now
from tests.integration.webhooks.conftest import books, provider, world  # noqa: F401
from tests.integration.webhooks.support import about, deliver, signed, stored, unknown
from tests.integration.webhooks.test_routes import PAID, order, paid

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 30

EVENTS = "the same event is on record more than once: the unique constraint of its name is missing"
STARTED = "one payment started more than one fulfilment: nothing holds it to one live row"
SAID = "one event said it more than once: its row is not locked while it is applied"
UNANSWERED = "a delivery of an event that is on record was not answered 200"


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Run all calls on threads and connections of their own, begun in the same moment."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait(20)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(60) for future in [pool.submit(run, call) for call in calls]]


def delivered_at_once(*bodies: bytes) -> list[int]:
    """The answers to `AT_ONCE` deliveries, shared among the bodies."""
    headers = {body: signed(body) for body in bodies}
    shared = [bodies[n % len(bodies)] for n in range(AT_ONCE)]
    return at_once([lambda b=body: deliver(b, headers[b]).status_code for body in shared])


@pytest.fixture(params=["with the cache", "without the cache"])
def cache(request: pytest.FixtureRequest, settings: Any, world: None) -> None:  # noqa: F811
    """The filter saves work and decides nothing: the same with and without it."""
    if request.param == "without the cache":
        dead = {"LOCATION": "redis://127.0.0.1:9/0"}
        settings.CACHES = {"default": settings.CACHES["default"] | dead}


@pytest.mark.usefixtures("cache")
def test_one_event_delivered_thirty_times_at_once_is_one_event_and_one_effect(
    books: Books,  # noqa: F811
) -> None:
    row = unknown()
    body = about(row)
    assert delivered_at_once(body) == [200] * AT_ONCE, UNANSWERED
    assert ProviderEvent.objects.count() == 1, EVENTS
    at_once([lambda: applying.apply(stored(body).pk) for _ in range(5)])
    assert Evidence.objects.filter(source="webhook").count() == 1, SAID
    assert now(row).state == "fulfilled"
    assert books.told == {"fulfilled": 1}
    assert deliver(body).status_code == 200


@pytest.mark.usefixtures("cache")
def test_one_payment_reported_thirty_times_at_once_starts_one_fulfilment(
    provider: Provider,  # noqa: F811
) -> None:
    fulfilment.route(PAID, order)
    assert delivered_at_once(paid(id="evt_1")) == [200] * AT_ONCE, UNANSWERED
    assert ProviderEvent.objects.count() == 1, EVENTS
    assert Fulfilment.objects.count() == 1, STARTED


def test_two_events_of_one_payment_at_once_start_one_fulfilment() -> None:
    fulfilment.route(PAID, order)
    bodies = paid(id="evt_1"), paid(id="evt_2")
    assert delivered_at_once(*bodies) == [200] * AT_ONCE, UNANSWERED
    assert Fulfilment.objects.count() == 1, STARTED
    row = Fulfilment.objects.get()
    assert [stored(body).fulfilment for body in bodies] == [row, row], STARTED
    at_once([applying.apply_due for _ in range(4)])
    assert {e.status for e in ProviderEvent.objects.all()} == {"applied"}


def test_two_bodies_under_one_name_at_once_are_one_event_and_one_conflict() -> None:
    row = unknown()
    bodies = about(row, id="evt_1"), about(row, id="evt_1", amount=501)
    assert delivered_at_once(*bodies) == [200] * AT_ONCE, UNANSWERED
    assert ProviderEvent.objects.count() == 1, EVENTS
    assert ProviderEventConflict.objects.count() == 1
    kept, other = stored(bodies[0]), ProviderEventConflict.objects.get()
    assert {bytes(kept.payload.body), bytes(other.body)} == set(bodies), "a body was lost"
    at_once([applying.apply_due for _ in range(4)])
    assert row.cases.count() == 1
    assert row.cases.get().actions.count() <= 2, "one conflict was told more than once"


def test_workers_and_pollers_at_once_apply_each_event_once(books: Books) -> None:  # noqa: F811
    rows = [unknown() for _ in range(6)]
    for row in rows:
        deliver(about(row))
    ids = list(ProviderEvent.objects.values_list("pk", flat=True))
    hinted = [lambda pk=pk: applying.apply(pk) for pk in ids]
    at_once([*hinted, *[applying.apply_due for _ in range(4)]])
    assert Evidence.objects.filter(source="webhook").count() == 6, SAID
    assert books.told == {"fulfilled": 6}, "a verdict reached the books more than once"


def test_workers_whose_turn_was_over_and_that_woke_up_together_say_it_once(
    books: Books,  # noqa: F811
) -> None:
    """All of them took the event, each after the one before it had been silent for too long."""
    row = unknown()
    body = about(row)
    deliver(body)
    taken = ProviderEvent.objects.select_related("payload").get()
    at_once([lambda: applying._apply(taken) for _ in range(8)])
    assert Evidence.objects.filter(source="webhook").count() == 1, SAID
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})


def test_workers_at_once_ask_one_question_for_thirty_events_whose_bodies_prove_nothing(
    provider: Provider,  # noqa: F811
    books: Books,  # noqa: F811
) -> None:
    provider.promises(webhook_authenticates_body=False)
    row = unknown()
    provider.books[row.reference] = row.amount
    for _ in range(30):
        deliver(about(row))
    ids = list(ProviderEvent.objects.values_list("pk", flat=True))
    at_once([lambda pk=pk: applying.apply(pk) for pk in ids])
    assert provider.questions == [row.reference], "several events asked for themselves"
    assert {e.status for e in ProviderEvent.objects.all()} == {"applied"}
    assert (now(row).state, books.told) == ("fulfilled", {"fulfilled": 1})


# --- while the first delivery is still being stored ------------------------------------------------


class Gate:
    """A starter that holds the first delivery inside its transaction."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.fault: BaseException | None = None

    def __call__(self, said: Event) -> Any:
        if not self.entered.is_set():
            self.entered.set()
            assert self.go_on.wait(20)
            if self.fault is not None:
                raise self.fault
        return order(said)


@pytest.fixture
def gate(world: None) -> Iterator[Gate]:  # noqa: F811
    made = Gate()
    fulfilment.route(PAID, made)
    yield made
    made.go_on.set()


def overlapping(gate: Gate, body: bytes) -> tuple[bool, list[int]]:
    """Was the second answered while the first was not committed; and both answers."""

    def post() -> int:
        try:
            return deliver(body).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(post)
        assert gate.entered.wait(20)
        second = pool.submit(post)
        wait_until_blocked()
        early = second.done()
        gate.go_on.set()
        return early, [first.result(20), second.result(20)]


def wait_until_blocked() -> None:
    """Until one connection waits for the end of another one's transaction."""
    blocked = "SELECT 1 FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
    for _ in range(500):
        with connection.cursor() as cursor:
            cursor.execute(blocked)
            if cursor.fetchone():
                return
        threading.Event().wait(0.01)
    raise AssertionError("the second delivery did not wait for the first one's commit")


def test_a_duplicate_is_not_answered_before_the_first_is_committed(gate: Gate) -> None:
    early, answers = overlapping(gate, paid(id="evt_1"))
    assert not early, "answered 200 for an event that no committed row proves"
    assert answers == [200, 200]
    assert ProviderEvent.objects.count() == 1, EVENTS


def test_where_the_first_is_rolled_back_the_second_is_stored(gate: Gate) -> None:
    gate.fault = OperationalError("deadlock detected")
    early, answers = overlapping(gate, paid(id="evt_1"))
    assert not early
    assert answers == [503, 200], "the event was lost with the first delivery's transaction"
    assert ProviderEvent.objects.count() == 1, EVENTS
    assert Fulfilment.objects.count() == 1


def test_a_connection_that_dies_under_a_starter_is_never_answered_200() -> None:
    """Leaving Django's atomic block would roll back without a word."""

    def starter(said: Event) -> Any:
        victim = connection.connection.info.backend_pid
        with closing(connections.create_connection("default")) as other:
            other.cursor().execute("SELECT pg_terminate_backend(%s, 5000)", [victim])
        raise ValueError("a bug, on top of it")

    fulfilment.route(PAID, starter)
    body = paid()
    [answer] = at_once([lambda: deliver(body).status_code])
    on_record = ProviderEvent.objects.count()
    assert (answer, on_record) == (503, 0), f"answered {answer} with {on_record} rows on record"
