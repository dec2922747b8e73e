"""Every race that is known between a call, a look-up, an event and a person: the row, its rule.

The ids are the races in words. What each comes to is told as `Verdict[:case or pace]`; the moves,
the locks and the provider's books are tested where they happen (integration, concurrency).
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fulfilment.connectors.base import Accepted, Done, NoInformation, NotSent, Refused, Unknown
from fulfilment.reconcile import policy
from fulfilment.reconcile.evidence import Fact, Finding, Source, statement_of
from fulfilment.reconcile.situation import Situation
from fulfilment.states import State
from tests.unit.fulfilment.build import (
    BLIND,
    CACHED_ERRORS,
    LEASE,
    absent,
    attempt,
    fact,
    minutes,
    situation,
)

SECONDS, FIVE_MINUTES = timedelta(seconds=1), timedelta(minutes=5)
LOST = attempt(ago=minutes(5))  # its worker never came back
RUNNING = attempt(ago=20 * SECONDS)  # closed by the sweeper, and could still call
UNSENT = attempt(ago=minutes(5), sent_at=None)


def answered(finding: Finding, *, ago: timedelta = FIVE_MINUTES, **said: Any) -> dict[str, Any]:
    """An attempt whose own call said so, and the answer."""
    came = fact(finding, ago=ago, source=Source.RESPONSE, attempt=1, **said)
    return {"tries": (attempt(ago=ago, answers=frozenset({finding})),), "facts": (came,)}


def told(finding: Finding, **said: Any) -> Fact:
    """What an event says, a moment ago."""
    return fact(finding, ago=1 * SECONDS, **({"source": Source.WEBHOOK, "id": 2} | said))


def asked(finding: Finding, **said: Any) -> Fact:
    """What the provider said when it was asked, after that event."""
    return fact(finding, ago=0 * SECONDS, **({"id": 3} | said))


def race(*facts: Fact, **given: Any) -> Situation:
    return situation(*given.pop("facts", ()), *facts, **given)


PAID: dict[str, Any] = answered(Finding.DONE) | {"state": State.FULFILLED}
FAILED: dict[str, Any] = answered(Finding.NOT_DONE) | {"state": State.FAILED}

RACES: dict[str, tuple[Situation, str]] = {
    "a late success of a live worker after the sweeper moved the row": (
        race(fact(Finding.UNKNOWN, ago=minutes(4), source=Source.SWEEP), **answered(Finding.DONE)),
        "Fulfil",
    ),
    "a late decline of a live worker after the sweeper moved the row": (
        race(**answered(Finding.NOT_DONE)),
        "Fail",
    ),
    "not found while the request may be in flight": (
        race(*absent(3 * SECONDS, 2 * SECONDS, 1 * SECONDS), tries=(RUNNING,)),
        "Wait",
    ),
    "a look-up that fails says nothing": (
        race(asked(Finding.NO_INFORMATION), tries=(LOST,)),
        "Wait",
    ),
    "the provider made two payments under one reference": (
        race(
            told(Finding.DONE, provider_id="pay_1"),
            asked(Finding.DONE, provider_id="pay_2"),
            tries=(LOST,),
        ),
        "Conflict",
    ),
    "failed is reported after success, before anybody asked": (
        race(told(Finding.NOT_DONE), **PAID),
        "Ask",
    ),
    "failed is reported after success, and asked about, it is done": (
        race(told(Finding.NOT_DONE), asked(Finding.DONE), **PAID),
        "Stand",
    ),
    "failed is reported after success, and asked about, it was given back": (
        race(told(Finding.NOT_DONE), asked(Finding.REVERSED), **PAID),
        "Reverse",
    ),
    "failed is reported after success, and asked about, it failed": (
        race(told(Finding.NOT_DONE), asked(Finding.NOT_DONE), **PAID),
        "Conflict",
    ),
    "failed is reported after success, while another question was under way": (
        race(told(Finding.NOT_DONE), replace(asked(Finding.DONE), asked_at=LOST.sent_at), **PAID),
        "Ask",
    ),
    "failed is reported twice after success, once before and once after the question": (
        race(
            fact(Finding.NOT_DONE, ago=minutes(2), source=Source.WEBHOOK, id=2),
            fact(Finding.DONE, ago=minutes(1), id=3),
            told(Finding.NOT_DONE, id=4),
            **PAID,
        ),
        "Ask",
    ),
    "failed is stated after success by a statement that we fetched": (
        race(replace(told(Finding.NOT_DONE), source=Source.STATEMENT), **PAID),
        "Ask",
    ),
    "failed is reported after success by a provider that cannot be asked": (
        race(told(Finding.NOT_DONE), capabilities=BLIND, **PAID),
        "Conflict",
    ),
    "reversed arrives before success": (race(told(Finding.REVERSED), tries=(LOST,)), "Fulfil"),
    "success arrives after what was reversed": (
        race(told(Finding.DONE), **answered(Finding.REVERSED), state=State.REVERSED),
        "Stand",
    ),
    "success is reported after failure": (race(told(Finding.DONE), **FAILED), "Conflict"),
    "an event before the call returned agrees with its answer": (
        race(told(Finding.DONE), **answered(Finding.DONE), state=State.DISPATCHING),
        "Fulfil",
    ),
    "an event before the call returned disagrees with its answer": (
        race(told(Finding.NOT_DONE), **answered(Finding.DONE), state=State.DISPATCHING),
        "Conflict",
    ),
    "an event settles what the call's own answer left open": (
        race(told(Finding.DONE), **answered(Finding.UNKNOWN), state=State.DISPATCHING),
        "Fulfil",
    ),
    "a refused connection": (race(**answered(Finding.NOT_SENT)), "Requeue:back_off"),
    "a refusal that the provider documents": (
        race(**answered(Finding.REFUSED)),
        "Requeue:back_off",
    ),
    "a time-out after bytes were sent": (race(**answered(Finding.UNKNOWN)), "Wait"),
    "a server error without a look-up, inside the window of the key": (
        race(**answered(Finding.UNKNOWN), capabilities=BLIND),
        "Requeue:cannot_ask",
    ),
    "a server error without a look-up, which the provider keeps under the key": (
        race(**answered(Finding.UNKNOWN), capabilities=CACHED_ERRORS),
        "OpenCase:cannot_ask",
    ),
    "accepted, for a while": (race(**answered(Finding.ACCEPTED)), "Wait"),
    "accepted, and not found since": (
        race(
            *absent(minutes(20), minutes(10), minutes(1)),
            **answered(Finding.ACCEPTED, ago=minutes(90)),
        ),
        "Wait",
    ),
    "accepted, for longer than the deadline": (
        race(**answered(Finding.ACCEPTED, ago=timedelta(hours=24))),
        "OpenCase:deadline",
    ),
    "the process died between claim and mark": (race(tries=(UNSENT,)), "Requeue:now"),
    "the process is paused after the mark, and its row is reported as not done": (
        race(told(Finding.NOT_DONE), tries=(RUNNING,)),
        "Wait",
    ),
    "the process was paused after the mark, and can call no more": (
        race(told(Finding.NOT_DONE), tries=(LOST,)),
        "Fail",
    ),
    "success with another amount": (
        race(told(Finding.DONE, amount=499), tries=(LOST,)),
        "Conflict",
    ),
    "success in another currency": (
        race(told(Finding.DONE, currency="USD"), tries=(LOST,)),
        "Conflict",
    ),
    "success without an amount": (race(told(Finding.DONE, amount=None), tries=(LOST,)), "Conflict"),
    "success with another recipient": (
        race(told(Finding.DONE, other_recipient=True), tries=(LOST,)),
        "Conflict",
    ),
    "success of a row that waits to be sent again": (
        race(told(Finding.DONE), tries=(LOST,), state=State.PENDING),
        "Fulfil",
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_race(name: str) -> None:
    seen, rule = RACES[name]
    verdict = policy.decide(seen)
    detail = getattr(verdict, "case", "") or getattr(verdict, "pace", "")
    got = f"{type(verdict).__name__}:{detail}".rstrip(":")
    assert got == rule, f"{name}: {verdict.reason}"


@pytest.mark.parametrize(
    ("answer", "may_have_arrived"),
    [
        (NotSent(reason="ConnectError"), False),
        (Refused(reason="rate limit"), False),
        (Unknown(reason="ReadTimeout"), True),
        (Accepted(), True),
        (Done(amount=500, currency="NGN"), True),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, bool) else "",
)
def test_a_timeout_is_never_taken_for_a_failure_and_a_refused_connection_never_for_unknown(
    answer: Any, may_have_arrived: bool
) -> None:
    """Given back or sent anew, although the provider may have paid."""
    finding = statement_of(answer).finding
    tried = attempt(ago=minutes(1), answers=frozenset({finding}))
    assert tried.may_have_arrived is may_have_arrived
    verdict = policy.decide(situation(tries=(tried,)))
    assert type(verdict).__name__ == ("Wait" if may_have_arrived else "Requeue")


@pytest.mark.parametrize("age", [1, 24, 24 * 30, 24 * 365], ids=lambda hours: f"{hours} h")
def test_a_success_that_comes_after_we_gave_up_waiting_is_never_dropped(age: int) -> None:
    """However late it is, and whoever brings it."""
    lost = attempt(ago=timedelta(hours=age))
    for source in set(Source) - {Source.PERSON, Source.SWEEP}:
        late = fact(Finding.DONE, ago=0 * SECONDS, source=source, attempt=1)
        assert type(policy.decide(situation(late, tries=(lost,)))).__name__ == "Fulfil", source
        given_up = situation(late, tries=(lost,), state=State.FAILED)
        assert type(policy.decide(given_up)).__name__ == "Conflict", source


@pytest.mark.parametrize(
    "wrong", [{"amount": 9999}, {"currency": "USD"}, {"amount": None}], ids=str
)
@pytest.mark.parametrize("source", sorted(set(Source) - {Source.PERSON, Source.SWEEP}))
def test_amount_and_currency_are_compared_whoever_says_done(
    source: Source, wrong: dict[str, Any]
) -> None:
    """Also where a right one was said before."""
    said = fact(Finding.DONE, ago=0 * SECONDS, source=source, id=9, **wrong)
    for before in ((), (fact(Finding.DONE, ago=minutes(1)),)):
        verdict = policy.decide(situation(*before, said, tries=(LOST,)))
        assert type(verdict).__name__ == "Conflict", f"{source} said {wrong}, after {before}"


def test_what_could_not_be_asked_is_no_answer_and_changes_no_position() -> None:
    """A refused look-up (401, 429, 5xx) never counts as an absence."""
    assert statement_of(NoInformation(reason="HTTP 401")).finding is Finding.NO_INFORMATION
    silent = tuple(fact(Finding.NO_INFORMATION, ago=minutes(m), canary=True) for m in (3, 2, 1))
    assert type(policy.decide(situation(*silent, tries=(attempt(ago=minutes(90)),)))).__name__ == (
        "Wait"
    )


def test_the_lease_of_the_table_is_the_one_that_fences() -> None:
    """So `RUNNING` can still call and `LOST` cannot."""
    assert 20 * SECONDS < LEASE < minutes(5)
