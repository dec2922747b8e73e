"""What no mixture of attempts and answers may ever lead to."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from fulfilment.connectors.base import Dedupe
from fulfilment.reconcile import policy
from fulfilment.reconcile.evidence import HAPPENED, Finding, Source
from fulfilment.reconcile.situation import Situation
from fulfilment.reconcile.verdicts import Ask, Conflict, Fail, Fulfil, Requeue, Reverse, Stand
from fulfilment.states import State
from tests.unit.fulfilment.build import (
    BLIND,
    CACHED_ERRORS,
    FOREVER,
    NEVER_FINAL,
    NO_DEDUPE,
    NOW,
    WINDOW,
    attempt,
    fact,
    situation,
)

ages = st.integers(0, 3 * 24 * 3600).map(lambda s: timedelta(seconds=s))
facts = st.builds(
    fact,
    st.sampled_from(Finding),
    ago=ages,
    id=st.integers(1, 99),
    source=st.sampled_from(Source),
    canary=st.booleans(),
    amount=st.sampled_from([500, 500, 500, 7, None]),
    attempt=st.sampled_from([None, 1, 2]),
)
closed = st.builds(
    attempt,
    st.integers(1, 3),
    ago=ages,
    maybe_sent=st.booleans(),
    answers=st.frozensets(st.sampled_from(Finding), max_size=1),
)
# Its worker may be in the call, or dead: nobody has said yet.
still_open = st.builds(attempt, st.integers(1, 3), ago=ages, closed_at=st.none())
situations = st.builds(
    lambda said, made, new, judged, capabilities, state, crashes: situation(
        *sorted(said, key=lambda f: f.recorded_at),
        tries=tuple(sorted(made, key=lambda t: t.number)),
        news=frozenset(f.id for f in said[:new]),
        judged_at=judged,
        capabilities=capabilities,
        state=state,
        failed_starts=crashes,
    ),
    st.lists(facts, max_size=6, unique_by=lambda f: f.id),
    st.lists(closed | still_open, max_size=3, unique_by=lambda t: t.number),
    st.integers(0, 6),
    st.sampled_from([None, NOW]),
    st.sampled_from([FOREVER, WINDOW, NO_DEDUPE, NEVER_FINAL, BLIND, CACHED_ERRORS]),
    st.sampled_from([State.PENDING, State.NEEDS_RECONCILIATION, State.FULFILLED, State.FAILED]),
    st.integers(0, 6),
)


@given(situations)
def test_nothing_is_sent_again_that_may_have_arrived_where_that_pays_again(seen: Situation) -> None:
    verdict = policy.decide(seen)
    if isinstance(verdict, Requeue) and seen.unresolved:
        assert seen.rules.capabilities.dedupe is not Dedupe.NONE
        assert seen.window_open
        assert seen.fenced


@given(situations)
def test_nothing_fails_without_a_word_of_the_provider_or_before_the_fence(seen: Situation) -> None:
    verdict = policy.decide(seen)
    if isinstance(verdict, Fail):
        ground = next(f for f in seen.told if f.id == verdict.fact)
        assert ground.conclusive
        assert seen.fenced
        assert not seen.said(Finding.DONE)


@given(situations)
def test_nothing_is_fulfilled_on_another_amount_or_against_a_denial(seen: Situation) -> None:
    if isinstance(policy.decide(seen), Fulfil):
        assert not seen.said(Finding.NOT_DONE)
        happened = [f for f in seen.told if f.conclusive and f.finding in HAPPENED]
        assert {(f.amount, f.currency) for f in happened} == {(500, "NGN")}


@given(situations)
def test_what_was_given_back_is_reversed_with_the_verdict_or_right_after_it(
    seen: Situation,
) -> None:
    back = seen.said(Finding.REVERSED)
    if isinstance(verdict := policy.decide(seen), Fulfil):
        assert (verdict.then is None) == (back is None), "a reversal that is on record was dropped"
        after = policy.decide(replace(seen, state=State.FULFILLED))
        assert isinstance(after, Stand if back is None else Reverse)


@given(situations)
def test_the_order_in_which_it_was_said_never_changes_a_conclusive_verdict(seen: Situation) -> None:
    backwards = replace(seen, facts=tuple(reversed(seen.facts)))
    settled = (Fulfil, Fail, Conflict)
    forth, back = policy.decide(seen), policy.decide(backwards)
    if isinstance(forth, settled) or isinstance(back, settled):
        assert type(forth) is type(back), "whoever brings the evidence last must not decide"


@given(situations)
def test_waiting_ends_in_the_future(seen: Situation) -> None:
    until = getattr(policy.decide(seen), "until", None)
    assert until is None or until > NOW, "a wait that is over already would be a busy loop"


@given(situations)
def test_a_verdict_is_never_overwritten_and_news_against_it_reach_a_person(seen: Situation) -> None:
    verdict = policy.decide(seen)
    if not seen.state.is_open:
        assert not isinstance(verdict, Fulfil | Fail | Requeue)
        denied = {Finding.DONE} if seen.state is State.FAILED else {Finding.NOT_DONE}
        news = [f for f in seen.told if f.id in seen.news and f.conclusive]
        overruled = verdict.overruled if isinstance(verdict, Stand) else frozenset()
        if denied & {f.finding for f in news if f.id not in overruled}:
            assert isinstance(verdict, Conflict | Ask), "what contradicts a verdict was dropped"
        asked = {f.id for f in seen.told if f.source is Source.LOOKUP and f.finding in HAPPENED}
        assert all(any(later > fact for later in asked) for fact in overruled), (
            "a report was overruled, and the provider did not say so after it"
        )
