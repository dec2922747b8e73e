"""When what was said cannot all be true. Pure."""

from collections.abc import Sequence

from fulfilment.reconcile.evidence import Fact, Finding
from fulfilment.states import State


def among(facts: Sequence[Fact], amount: int, currency: str) -> str:
    """How the facts contradict one another or our own row; empty where they do not."""
    done = [f for f in facts if f.conclusive and f.finding is Finding.DONE]
    against = [f for f in facts if f.conclusive and f.finding is not Finding.DONE]
    if done and against:
        return "the provider says both done and not done"
    if any(f.finding is Finding.REVERSED for f in against):
        return "the provider says that it was given back"
    if any((f.amount, f.currency) != (amount, currency) for f in done):
        return "the provider says done, with another amount or currency"
    if len({f.provider_id for f in done if f.provider_id}) > 1:
        return "the provider has two payments under our reference"
    return ""


def with_verdict(state: State, fact: Fact) -> str:
    """How a fact contradicts the verdict that was given; empty where it does not."""
    if not fact.conclusive:
        return ""
    happened = state in {State.FULFILLED, State.REVERSED}
    if fact.finding is Finding.DONE and not happened:
        return f"we say {state}, the provider says done"
    if fact.finding is Finding.NOT_DONE and happened:
        return f"we say {state}, the provider says not done"
    if fact.finding is Finding.REVERSED and state is not State.REVERSED:
        return f"we say {state}, the provider says that it was given back"
    return ""
