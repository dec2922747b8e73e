"""The states of a fulfilment and the ways between them. Pure: no Django, no clock, no I/O.

    pending --> dispatching --+--> fulfilled              (the call returned: done)
       ^                      +--> needs_reconciliation   (anything else)
       +-- provably not sent, or ----------+--> fulfilled | failed     (facts only)
           not-found is a fact

The database holds the same table in a trigger, so a slip in the code cannot move money.
"""

import hashlib
from enum import StrEnum


class State(StrEnum):
    """Where a fulfilment stands. `open` states wait for something; the others are verdicts."""

    PENDING = "pending"  # -> dispatching, needs_reconciliation, cancelled
    DISPATCHING = "dispatching"  # -> fulfilled, needs_reconciliation: the only two ways out
    NEEDS_RECONCILIATION = "needs_reconciliation"  # -> fulfilled, failed, pending: on facts only
    FULFILLED = "fulfilled"  # -> reversed: the provider gave it back later
    FAILED = "failed"  # -> fulfilled: late truth, decided by a person
    CANCELLED = "cancelled"  # final: nothing was ever sent
    REVERSED = "reversed"  # final

    @property
    def is_open(self) -> bool:
        """True while a verdict is due; an open fulfilment always has its next check set."""
        return self in OPEN


OPEN = frozenset({State.PENDING, State.DISPATCHING, State.NEEDS_RECONCILIATION})

# Every state but these two occupies its payment: a second fulfilment would pay again.
FREES_THE_PAYMENT = frozenset({State.FAILED, State.CANCELLED})

MOVES: frozenset[tuple[State, State]] = frozenset(
    {
        (State.PENDING, State.DISPATCHING),
        (State.PENDING, State.NEEDS_RECONCILIATION),
        (State.PENDING, State.CANCELLED),
        (State.DISPATCHING, State.FULFILLED),
        (State.DISPATCHING, State.NEEDS_RECONCILIATION),
        (State.NEEDS_RECONCILIATION, State.FULFILLED),
        (State.NEEDS_RECONCILIATION, State.FAILED),
        (State.NEEDS_RECONCILIATION, State.PENDING),
        (State.FULFILLED, State.REVERSED),
        (State.FAILED, State.FULFILLED),
    }
)


def may_move(before: State, after: State) -> bool:
    """Is there a way from `before` to `after` at all? Guards beyond this live with each mover."""
    return (before, after) in MOVES


def reference_of(payment_id: str, *, connector: str, generation: int) -> str:
    """Our stable name for the effect: 32 hexadecimal characters, the same after lost rows.

    Hexadecimal, so that no customer's text can form a word that a provider's sandbox obeys, and
    within every known provider's character set and length.
    """
    identity = f"{payment_id}\n{connector}\n{generation}".encode()
    return hashlib.sha256(identity).hexdigest()[:32]
