"""How many requests the audit sends, and how many effects they can have. Pure; said before any is sent."""

from dataclasses import dataclass

AT_ONCE = (
    10  # as many as an impatient app with a few retries sends, and more than most pools of threads
)
RETRIES = 5  # of a key whose first request is still running


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is tried: its requests, and its effects where the contract is kept."""

    name: str
    requests: int = 1
    effects: int = 0
    can_act: bool = True  # where the contract is not kept, each of its requests may have an effect


STEPS = (
    Step("first", effects=1),
    Step("replay", requests=1 + RETRIES),
    Step("other body"),
    Step("replay again"),
    Step("quoted"),
    Step("other order"),
    Step("chunked"),
    Step("chunked other body"),
    Step("look", can_act=False),
    Step("no key"),
    Step("long key", requests=2),
    Step("control character"),
    Step("not ASCII"),
    Step("two keys"),
    Step("at once", requests=AT_ONCE, effects=1),
    Step("after", requests=RETRIES),
    Step("somebody else", effects=1),
    Step("refused", requests=2, can_act=False),
)


def most_requests() -> int:
    """The bound on what is sent."""
    return sum(step.requests for step in STEPS)


def effects_if_kept() -> int:
    """The effects on an endpoint that keeps every promise: two for one user, one for the other."""
    return sum(step.effects for step in STEPS)


def effects_at_worst() -> int:
    """The effects on an endpoint that carries out whatever it gets."""
    return sum(step.requests for step in STEPS if step.can_act)
