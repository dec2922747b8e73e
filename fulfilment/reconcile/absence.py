"""When "not found" is a fact. Pure.

A slow request is found later, a search index lags, and a wrong key finds nothing at all. So an
absence proves something only once nothing can arrive any more, after the time in which the
provider says that it becomes visible, by answers that agree, next to a reference that is found.
"""

from datetime import datetime

from fulfilment.reconcile.evidence import Fact, Finding, Source
from fulfilment.reconcile.situation import Situation

AGREEING = 3  # answers; two may come from one lagging replica


def is_fact(situation: Situation) -> bool:
    """Do the look-ups prove that nothing of what was sent exists or can still come to exist?"""
    settled_at, fenced_at = settling_ends_at(situation), situation.fenced_at
    if settled_at is None or fenced_at is None:
        return False
    answers = _answers_since_sent(situation)[-AGREEING:]
    if len(answers) < AGREEING or not all(_counts(answer) for answer in answers):
        return False
    before, last = answers[-2:]
    if last.as_of < max(settled_at, fenced_at):
        return False  # asked too early: something could have arrived after this answer
    return last.as_of - before.recorded_at >= situation.rules.capabilities.visible_after


def settling_ends_at(situation: Situation) -> datetime | None:
    """When everything sent must be visible; None where the provider never promises that."""
    capabilities = situation.rules.capabilities
    if capabilities.not_found_final_after is None:
        return None
    settling = max(
        2 * situation.rules.total_deadline,
        capabilities.visible_after,
        capabilities.not_found_final_after,
    )
    return _last_sent(situation) + settling


def _answers_since_sent(situation: Situation) -> list[Fact]:
    """Without "no information": nobody was asked, so nobody answered."""
    since = _last_sent(situation)
    return [
        f
        for f in situation.told
        if f.source is Source.LOOKUP and f.finding is not Finding.NO_INFORMATION and f.as_of > since
    ]


def _last_sent(situation: Situation) -> datetime:
    return max(t.sent_by(call=situation.rules.call) for t in situation.unresolved)


def _counts(answer: Fact) -> bool:
    return answer.finding is Finding.NOT_FOUND and answer.canary
