"""The machine is worth what it catches: each rule of the policy is taken away, and the machine must say so."""

from datetime import timedelta

import pytest

from fulfilment.reconcile import absence, contradiction, policy
from fulfilment.reconcile.attempts import Try
from fulfilment.reconcile.evidence import Fact, Finding
from fulfilment.reconcile.situation import Situation
from fulfilment.reconcile.verdicts import Fail, Fulfil, Verdict, Wait
from tests.machine.payments import PaymentLife

_unknown, _happened = policy._unknown, policy._happened


def _last(seen: Situation, finding: Finding) -> Fact | None:
    return next((f for f in seen.told if f.finding is finding), None)


def _absence_fails(seen: Situation) -> Verdict:
    missing = _last(seen, Finding.NOT_FOUND)
    return Fail(reason="", fact=missing.id) if missing else _unknown(seen)


def _time_fails(seen: Situation) -> Verdict:
    due = policy.case_due_at(seen)
    return Fail(reason="", fact=1) if due and due <= seen.now else _unknown(seen)


def _accepted_is_done(seen: Situation) -> Fulfil | None:
    said = _last(seen, Finding.ACCEPTED)
    return Fulfil(reason="", fact=said.id) if said else _happened(seen)


def _accepted_is_sent_again(seen: Situation) -> Verdict:
    if absence.is_fact(seen) and policy.may_send(seen):
        return policy._requeue(seen, reason="")
    return _unknown(seen)


def _unmarked_means_unsent(self: Try) -> bool:
    return self.closed_at is None or bool(self.answers - {Finding.UNKNOWN})


Step = tuple[str, dict[str, object]]

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def step(name: str, **drawn: object) -> Step:
    return name, drawn


def arrives(decides: Finding) -> Step:
    return step("a_request_arrives", decides=decides, last=True)


CALLED = [step("a_worker_claims"), step("a_worker_marks"), step("a_worker_calls", way="out")]
LOST = [step("the_workers_die"), step("time_passes", by=timedelta(seconds=31))]
SWEPT = [*LOST, step("the_sweeper_comes")]
ANSWERED = step("a_worker_comes_back", heard=True, last=True)
LATER, TOMORROW = step("time_passes", by=HOUR), step("time_passes", by=DAY + HOUR)
DOWN, NOW = (step("the_provider_is_asked", how=how) for how in ("down", "now"))
OFTEN, ASTRAY = (step("it_is_asked_again_and_again", how=how) for how in ("now", "wrong key"))
FORGETS = step("the_provider_forgets_what_it_accepted")
END = step("teardown")

# What is taken away, by what, at which provider, and the steps that show it.
BROKEN: dict[str, tuple[object, str, object, str, list[Step]]] = {
    "settling time": (
        absence,
        "settling_ends_at",
        lambda seen: seen.tries[0].claimed_at,
        "knows references for ever",
        [*CALLED, *SWEPT, OFTEN],
    ),
    "agreeing answers": (
        absence,
        "is_fact",
        lambda seen: bool(seen.told) and absence._counts(seen.told[-1]),
        "knows references for ever",
        [*CALLED, *SWEPT, NOW],
    ),
    "canary": (
        absence,
        "_counts",
        lambda answer: answer.finding is Finding.NOT_FOUND,
        "knows references for ever",
        [*CALLED, arrives(Finding.DONE), *SWEPT, LATER, ASTRAY],
    ),
    "no information is no answer": (
        absence,
        "is_fact",
        lambda seen: seen.told[-1].finding is Finding.NO_INFORMATION if seen.told else False,
        "knows references for ever",
        [*CALLED, arrives(Finding.DONE), *SWEPT, LATER, DOWN],
    ),
    "dedupe window": (
        Situation,
        "window_open",
        property(lambda self: True),
        "cannot be asked",
        [
            *CALLED,
            arrives(Finding.DONE),
            *LOST,
            TOMORROW,
            step("the_sweeper_comes"),
            *CALLED,
            arrives(Finding.DONE),
        ],
    ),
    "an absence never fails": (
        policy,
        "_unknown",
        _absence_fails,
        "knows references for ever",
        [*CALLED, *SWEPT, NOW],
    ),
    "time never fails": (
        policy,
        "_unknown",
        _time_fails,
        "knows references for ever",
        [*CALLED, arrives(Finding.DONE), *SWEPT, TOMORROW, DOWN],
    ),
    "accepted is not done": (
        policy,
        "_happened",
        _accepted_is_done,
        "knows references for ever",
        [*CALLED, arrives(Finding.ACCEPTED), ANSWERED],
    ),
    "accepted is never sent again": (
        policy,
        "_unknown",
        _accepted_is_sent_again,
        "knows references for ever",
        [*CALLED, arrives(Finding.ACCEPTED), ANSWERED, FORGETS, LATER, OFTEN],
    ),
    "a lost worker may have sent": (
        Try,
        "may_have_arrived",
        property(_unmarked_means_unsent),
        "knows references for ever",
        [*CALLED, arrives(Finding.DONE), *SWEPT],
    ),
    "late truth reaches a person": (
        contradiction,
        "with_verdict",
        lambda state, fact: "",
        "never says not found for good",
        [*CALLED, arrives(Finding.DONE), *SWEPT, TOMORROW, DOWN, step("a_person_errs"), NOW],
    ),
    "the deadline": (
        policy,
        "_wait",
        lambda seen, *, reason: Wait(reason=reason),
        "never says not found for good",
        [*CALLED, *SWEPT, END],
    ),
}


class Told(PaymentLife):
    """The same life, told instead of drawn, with a person who is wrong."""

    def a_person_errs(self) -> None:
        self.row.ruled(Finding.NOT_DONE)
        self.row.now += timedelta(seconds=1)

    def live(self, promises: str, steps: list[Step]) -> None:
        self.begin(promises=promises)
        for name, drawn in steps:
            getattr(self, name)(**drawn)
            self.at_most_one_effect()
            self.what_contradicts_a_verdict_reaches_a_person()


@pytest.mark.parametrize("rule", BROKEN)
def test_a_policy_without_this_rule_is_caught(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, broken, promises, steps = BROKEN[rule]
    _safely(promises, steps, rule=rule)
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(AssertionError):
        Told().live(promises, steps)


def _safely(promises: str, steps: list[Step], *, rule: str) -> None:
    """With every rule in place the same steps do no harm, or the test would show nothing.

    Sending again is refused then, so there may be nothing left that could arrive.
    """
    try:
        Told().live(promises, steps)
    except IndexError:
        assert rule == "dedupe window"
