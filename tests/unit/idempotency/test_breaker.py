"""A breaker stops asking what fails, and lets one caller try it again."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from idempotency.breaker import Breaker

REST = 5.0


class Clock:
    """Monotonic seconds that pass when the test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock)


def open_(breaker: Breaker) -> None:
    turn = breaker.let_in()
    assert turn is not None
    breaker.failed(turn, rest=REST)


def test_while_nothing_fails_everybody_asks(breaker: Breaker) -> None:
    turns = [breaker.let_in() for _ in range(3)]
    for turn in turns:
        assert turn is not None
        breaker.worked(turn)
    assert not breaker.rests
    assert breaker.let_in() is not None


def test_one_failure_keeps_everybody_out_until_the_rest_is_over(
    breaker: Breaker, clock: Clock
) -> None:
    open_(breaker)
    clock.now += REST - 0.001
    assert breaker.rests
    assert breaker.let_in() is None, "what had failed was asked before its rest was over"
    clock.now += 0.001
    assert not breaker.rests
    assert breaker.let_in() is not None, "it is never asked again"


def test_after_the_rest_one_caller_tries_and_the_others_do_without(
    breaker: Breaker, clock: Clock
) -> None:
    open_(breaker)
    clock.now += REST
    crowd = 16
    barrier = Barrier(crowd)

    def one(_: int) -> int | None:
        barrier.wait(timeout=10)
        return breaker.let_in()

    with ThreadPoolExecutor(crowd) as pool:
        turns = [turn for turn in pool.map(one, range(crowd)) if turn is not None]
    assert len(turns) == 1, f"{len(turns)} of {crowd} asked at once what may still be down"
    assert breaker.rests
    breaker.worked(turns[0])
    assert not breaker.rests
    assert breaker.let_in() is not None, "its success did not close the breaker"


def test_a_try_that_fails_opens_it_for_another_rest(breaker: Breaker, clock: Clock) -> None:
    open_(breaker)
    clock.now += REST
    clock.now += 1  # the try takes a second
    open_(breaker)
    clock.now += REST - 0.001
    assert breaker.let_in() is None, "a failed try did not open the breaker again"
    clock.now += 0.001
    assert breaker.let_in() is not None


def test_a_try_that_never_ends_is_followed_by_another(breaker: Breaker, clock: Clock) -> None:
    open_(breaker)
    clock.now += REST
    lost = breaker.let_in()
    assert lost is not None
    clock.now += REST - 0.001
    assert breaker.let_in() is None
    clock.now += 0.001
    second = breaker.let_in()
    assert second is not None, "a caller that died keeps everybody out for ever"
    breaker.worked(lost)
    assert breaker.rests, "an earlier try closed it, whose successor is still asking"
    breaker.worked(second)
    assert not breaker.rests


def test_what_began_before_it_opened_neither_closes_nor_opens_it(
    breaker: Breaker, clock: Clock
) -> None:
    early, slow = breaker.let_in(), breaker.let_in()
    assert early is not None
    assert slow is not None
    open_(breaker)
    breaker.worked(early)
    assert breaker.rests, "an answer from before the failure closed the breaker"
    clock.now += REST
    again = breaker.let_in()
    assert again is not None
    breaker.worked(again)
    breaker.failed(slow, rest=REST)
    assert not breaker.rests, "a time-out from before the recovery opened the breaker"


def test_reset_forgets_all(breaker: Breaker) -> None:
    open_(breaker)
    breaker.reset()
    assert not breaker.rests
    assert breaker.let_in() is not None
