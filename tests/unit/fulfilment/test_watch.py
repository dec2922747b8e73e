"""When a payment with a verdict is asked about again; no database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from fulfilment.reconcile.watch import Watch, next_at

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCHEDULE = tuple(timedelta(seconds=s) for s in (30, 120, 86400 * 3))
WATCH = Watch(now=NOW, ends_at=NOW + 5 * DAY, every=DAY, schedule=SCHEDULE)

watches = st.builds(
    Watch,
    now=st.just(NOW),
    ends_at=st.none() | st.integers(-60, 60).map(lambda days: NOW + days * DAY),
    every=st.integers(1, 30).map(lambda days: days * DAY),
    schedule=st.just(SCHEDULE),
    jitter=st.floats(-0.9, 0.9),
    visible_after=st.integers(0, 600).map(lambda s: timedelta(seconds=s)),
    doubtful=st.integers(0, 100),
    case_open=st.booleans(),
)


@given(watches)
def test_the_next_question_lies_ahead_and_never_further_than_the_rhythm(watch: Watch) -> None:
    at = next_at(watch)
    assert at is None or NOW < at <= NOW + max(watch.every * 2, watch.visible_after)


@given(watches)
def test_who_works_on_a_doubt_always_gets_another_answer(watch: Watch) -> None:
    assert next_at(replace(watch, doubtful=max(watch.doubtful, 1), case_open=True)) is not None


@given(watches)
def test_a_clear_answer_at_the_end_is_the_last_question(watch: Watch) -> None:
    over = replace(watch, ends_at=NOW - DAY, doubtful=0)
    assert next_at(over) is None


def test_answers_that_shall_agree_lie_apart() -> None:
    slow = replace(WATCH, doubtful=1, visible_after=timedelta(hours=2))
    assert next_at(slow) == NOW + timedelta(hours=2)
