"""The one resolver: from everything that is on record to a verdict. Pure.

Whoever brought a piece of evidence (the call itself, a look-up, an event, the sweeper), it is
judged here, together with all the others, by the same rules. What the rules cannot prove waits,
and then goes to a person; nothing fails because time passed.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from fulfilment.reconcile import absence, arbiter, contradiction
from fulfilment.reconcile.evidence import Fact, Finding, Source
from fulfilment.reconcile.situation import Situation
from fulfilment.reconcile.verdicts import (
    Ask,
    Conflict,
    Fail,
    Fulfil,
    OpenCase,
    Pace,
    Requeue,
    Reverse,
    Stand,
    Verdict,
    Wait,
)
from fulfilment.states import State


def decide(situation: Situation) -> Verdict:
    """The verdict on a row that no open attempt holds. On facts only; the same for all."""
    if not situation.state.is_open:
        return _after_the_verdict(situation)
    if clash := contradiction.among(situation.told, situation.amount, situation.currency):
        return Conflict(reason=clash)
    if happened := _happened(situation):
        return happened
    if situation.paid_before:
        return Conflict(reason=f"an earlier reference was paid: {situation.paid_before}")
    if not_done := situation.said(Finding.NOT_DONE):
        return _not_done(situation, not_done)
    if not situation.unresolved:
        return _requeue(situation, reason="provably not sent")
    return _unknown(situation)


def may_send(situation: Situation) -> bool:
    """May the same reference be sent now? Asked again right before an attempt is opened.

    A row may wait in `pending` (a broker was down, the provider refused) until the provider has
    forgotten the reference, and then sending it again would pay again; and so it would where an
    earlier reference of the payment turned out to be paid meanwhile.
    """
    if situation.paid_before:
        return False
    return not situation.unresolved or situation.window_open


def case_due_at(situation: Situation) -> datetime | None:
    """When a person is asked if nobody knows by then; None where nothing may have arrived."""
    if not situation.unresolved:
        return None
    patience = situation.rules.case_deadline
    if window := situation.rules.capabilities.dedupe_window:
        # A person must still have time to decide while sending again is safe.
        patience = min(patience, window * 0.8)
    return min(t.sent_from for t in situation.unresolved) + patience


def _happened(situation: Situation) -> Fulfil | None:
    """Done, or given back, which was done before: posted first, and then reversed."""
    done, back = situation.said(Finding.DONE), _given_back(situation)
    if done is not None:
        return Fulfil(reason=f"{_who(done)}: done", fact=done.id, then=back)
    if back is not None:
        return Fulfil(reason=f"{back.reason}, so it was done", fact=back.fact, then=back)
    return None


def _given_back(situation: Situation) -> Reverse | None:
    fact = situation.said(Finding.REVERSED)
    return None if fact is None else Reverse(reason=f"{_who(fact)}: given back", fact=fact.id)


def _not_done(situation: Situation, fact: Fact) -> Verdict:
    if situation.fenced:
        return Fail(reason=f"{_who(fact)}: not done", fact=fact.id)
    return Wait(
        reason=f"{_who(fact)}: not done, but an attempt may still be under way",
        until=situation.fenced_at,
    )


def _unknown(situation: Situation) -> Verdict:
    if any(f.finding is Finding.ACCEPTED for f in situation.told):
        # Then not found contradicts it, so no absence is a fact here.
        return _wait(situation, reason="the provider has it and has not decided")
    if not situation.rules.capabilities.lookup_by_reference:
        return _cannot_ask(situation)
    if not absence.is_fact(situation):
        return _wait(situation, reason="nobody knows yet")
    if may_send(situation):
        return _requeue(situation, reason="not found, which is a fact by now")
    return OpenCase(reason="not found, but sending it again could pay twice", case="not_found")


def _cannot_ask(situation: Situation) -> Verdict:
    """A person is asked at once: no look-up will ever answer."""
    if situation.rules.capabilities.errors_cached or not may_send(situation):
        return OpenCase(reason="this provider cannot be asked", case="cannot_ask")
    if not situation.fenced:
        return OpenCase(
            reason="this provider cannot be asked, and an attempt may still be under way",
            case="cannot_ask",
            until=situation.fenced_at,
        )
    return _requeue(
        situation, reason="cannot be asked, and knows its reference again", case="cannot_ask"
    )


def _requeue(situation: Situation, *, reason: str, case: str = "") -> Verdict:
    if situation.crashes >= situation.rules.crashes:
        crashed = f"{reason}, but {situation.crashes} workers died with it"
        return OpenCase(reason=crashed, case="not_found" if situation.unresolved else "crashes")
    last = situation.tries[-1] if situation.tries else None
    if last is not None and last.answers and not last.may_have_arrived:
        return Requeue(reason=f"{reason}; it was not taken", pace=Pace.BACK_OFF, case=case)
    blind = situation.unresolved and not situation.rules.capabilities.lookup_by_reference
    return Requeue(reason=reason, pace=Pace.SCHEDULE if blind else Pace.NOW, case=case)


def _wait(situation: Situation, *, reason: str) -> Verdict:
    case_at = case_due_at(situation)
    if case_at is not None and case_at <= situation.now:
        return OpenCase(reason=f"{reason}, and the deadline is over", case="deadline")
    return Wait(reason=reason, until=case_at)


def _after_the_verdict(situation: Situation) -> Verdict:
    """A reversal is a fact of its own. A contradiction asks a person again; it never overwrites."""
    unjudged = [f for f in situation.told if f.id in situation.news or _unjudged(situation, f)]
    overruled = frozenset(f.id for f in unjudged if arbiter.overrules(situation, f))
    news = [f for f in unjudged if f.id not in overruled]
    if contested := _contested(situation, news):
        return contested
    if situation.state is State.FULFILLED:
        if clash := contradiction.among(news, situation.amount, situation.currency):
            return Conflict(reason=clash)
        if back := _given_back(situation):
            return back
        if _vanished(situation, news):
            return Conflict(reason="the provider said done, and does not know it any more")
    if overruled:
        return Stand(
            reason="the provider, when asked, takes back what it reported", overruled=overruled
        )
    return Stand(reason="what was said agrees with the verdict")


def _contested(situation: Situation, news: Sequence[Fact]) -> Ask | Conflict | None:
    """What no asking can settle goes to a person, whatever else was said, and in which order."""
    clashes = {f: clash for f in news if (clash := contradiction.with_verdict(situation.state, f))}
    for fact, clash in clashes.items():
        if not arbiter.is_to_be_asked(situation, fact):
            return Conflict(reason=clash)
    return next((Ask(reason=clash) for clash in clashes.values()), None)


def _vanished(situation: Situation, news: Sequence[Fact]) -> bool:
    """Not found after it was done, and that is a fact as it would be for an unknown one."""
    newly = any(f.finding is Finding.NOT_FOUND for f in news)
    if not newly or not situation.unresolved or not absence.is_fact(situation):
        return False
    return not _vanished_before(situation)


def _vanished_before(situation: Situation) -> bool:
    """Did a person judge it when it had vanished already? Then its absence since says nothing new."""
    old = [f for f in situation.facts if not _unjudged(situation, f)]
    if not absence.is_fact(replace(situation, facts=tuple(old))):
        return False
    empty = {Finding.NOT_FOUND, Finding.NO_INFORMATION}
    since = [f for f in situation.told if f.source is Source.LOOKUP and _unjudged(situation, f)]
    return all(f.finding in empty for f in since)


def _unjudged(situation: Situation, fact: Fact) -> bool:
    return situation.judged_at is None or fact.recorded_at > situation.judged_at


def _who(fact: Fact) -> str:
    match fact.source:
        case Source.RESPONSE:
            return "the provider answered"
        case Source.LOOKUP:
            return "the provider, when asked, said"
        case _:
            return "the provider reported"
