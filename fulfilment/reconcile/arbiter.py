"""Who is right when a report contradicts a verdict that stands: the provider itself, asked. Pure.

Events and statements come late and out of order. One that says "not done" of what was done may be
older than the success, or about something else, so it neither overwrites nor alarms anybody before
the provider was asked what it has now.
"""

from fulfilment.reconcile.evidence import HAPPENED, Fact, Finding, Source
from fulfilment.reconcile.situation import Situation
from fulfilment.states import State

# Who asked, or decided: their word is not a report.
_NOT_REPORTED = frozenset({Source.LOOKUP, Source.PERSON, Source.SWEEP})


def overrules(situation: Situation, fact: Fact) -> bool:
    """Did the provider, asked after this report, say that it happened all the same?"""
    answers = [f for f in _asked_since(situation, fact) if f.finding is not Finding.NO_INFORMATION]
    return _is_contested(situation, fact) and bool(answers) and answers[-1].finding in HAPPENED


def is_to_be_asked(situation: Situation, fact: Fact) -> bool:
    """May asking settle it? Not where nobody can be asked, or somebody was and it did not."""
    can_be = situation.rules.capabilities.lookup_by_reference
    return _is_contested(situation, fact) and can_be and not _asked_since(situation, fact)


def _is_contested(situation: Situation, fact: Fact) -> bool:
    happened = situation.state in {State.FULFILLED, State.REVERSED}
    reported = fact.source not in _NOT_REPORTED
    return happened and reported and fact.finding is Finding.NOT_DONE


def _asked_since(situation: Situation, fact: Fact) -> list[Fact]:
    """A question that was under way already says nothing of what came in between."""
    answers = [f for f in situation.told if f.source is Source.LOOKUP and f.id > fact.id]
    return [f for f in answers if f.as_of >= fact.recorded_at]
