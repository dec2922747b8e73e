"""When what was said cannot all be true. Pure."""

from collections.abc import Sequence

from fulfilment.reconcile.evidence import HAPPENED, Fact, Finding
from fulfilment.states import State


def among(facts: Sequence[Fact], amount: int, currency: str) -> str:
    """How the facts contradict one another or our own row; empty where they do not."""
    happened = [f for f in facts if f.conclusive and f.finding in HAPPENED]
    if happened and any(f.conclusive and f.finding is Finding.NOT_DONE for f in facts):
        return "the provider says both done and not done"
    for fact in happened:
        if (fact.amount, fact.currency) != (amount, currency):
            return f"the provider says {_SAID[fact.finding]}, with another amount or currency"
        if fact.other_recipient:
            return f"the provider says {_SAID[fact.finding]}, to another recipient"
    # Only of what was done: a reversal may have a name of its own at the provider.
    done = {f.provider_id for f in happened if f.finding is Finding.DONE and f.provider_id}
    if len(done) > 1:
        return "the provider has two payments under our reference"
    return ""


_SAID = {Finding.DONE: "done", Finding.REVERSED: "that it was given back"}


def with_verdict(state: State, fact: Fact) -> str:
    """How a fact contradicts the verdict that was given; empty where it does not."""
    if not fact.conclusive:
        return ""
    happened = state in {State.FULFILLED, State.REVERSED}  # what was given back was done before
    if fact.finding is Finding.DONE and not happened:
        return f"we say {state}, the provider says done"
    if fact.finding is Finding.NOT_DONE and happened:
        return f"we say {state}, the provider says not done"
    if fact.finding is Finding.REVERSED and not happened:
        return f"we say {state}, the provider says that it was given back"
    return ""
