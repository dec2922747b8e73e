"""When a provider that does not answer is left alone. No database, no clock."""

from datetime import UTC, datetime, timedelta

from fulfilment.reconcile import breaker
from fulfilment.reconcile.breaker import Breaker, Rules, Turn

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
REST = timedelta(seconds=30)
RULES = Rules(after=3, rest=REST)


def after_failures(count: int) -> Breaker:
    seen = Breaker()
    for _ in range(count):
        seen = breaker.failed(seen, now=AT, rules=RULES)
    return seen


def test_only_so_many_failures_in_a_row_open_it() -> None:
    assert breaker.turn(after_failures(2), now=AT) is Turn.CALL
    assert after_failures(3) == Breaker(failures=3, open_until=AT + REST)
    assert breaker.turn(after_failures(3), now=AT) is Turn.WAIT


def test_when_its_rest_is_over_one_tries_and_the_others_wait() -> None:
    over = AT + REST
    assert breaker.turn(after_failures(3), now=over) is Turn.TRY
    tried = breaker.tried(after_failures(3), now=over, rules=RULES)
    assert breaker.turn(tried, now=over) is Turn.WAIT, "everybody tries at once"


def test_one_who_tries_and_is_never_heard_of_keeps_the_others_out_for_one_rest_only() -> None:
    tried = breaker.tried(after_failures(3), now=AT + REST, rules=RULES)
    assert breaker.turn(tried, now=AT + 2 * REST) is Turn.TRY


def test_a_try_that_fails_opens_it_anew_from_its_end() -> None:
    end = AT + REST + timedelta(seconds=10)
    tried = breaker.tried(after_failures(3), now=AT + REST, rules=RULES)
    assert breaker.failed(tried, now=end, rules=RULES).open_until == end + REST
