"""Who owns a key, and what clients, handlers and the other system may do next."""

from dataclasses import dataclass
from datetime import timedelta

from hypothesis import strategies as st

from idempotency import recovery
from idempotency.contract import Record
from tests.machine.shelf import LEASE

SAME, OTHER = "f" * 64, "0" * 64
STEP = timedelta(minutes=10)  # never in step with a lease, a call or a back-off

BODIES = st.sampled_from([SAME, SAME, SAME, OTHER])
MOODS = st.sampled_from(["honest", "honest", "honest", "silent", "fails", "nonsense"])
AFTER_A_WHILE = st.sampled_from([0 * STEP, 5 * STEP])
TURN = st.integers(0, 5)

# Answers that a handler may give before it has called anybody, and after that.
BEFORE = st.sampled_from([400, 402, 404, 409, 425, 429, 500, 503])
AFTER = st.sampled_from([201, 201, 303, 409, 429, 500, 502, 504])


@dataclass
class Owner:
    """A process that was given the key. It does not know what became of that since."""

    number: int
    fingerprint: str
    doing: str = "running"  # -> marked -> called; or asking -> concluding
    record: Record | None = None  # what it asks about
    found: recovery.Recovery | None = None
    lease: timedelta = LEASE  # for the request, if nothing happened; 0: a sweep's
