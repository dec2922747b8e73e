"""Points at which a test kills or stops a process.

    IDEMPOTENCY_KILL_AT=leased.marked    the process gets SIGKILL there
    IDEMPOTENCY_STOP_AT=leased.called    the process gets SIGSTOP there; SIGCONT wakes it up

Names, in the order in which a leased request passes them: `leased.claimed` (the lease is
committed), `leased.marked` (the mark is committed, no byte has left), `leased.called` (the handler
has called, nothing is recorded), `leased.settling` (the business rows are written, the answer is
not), `leased.settled` (all is committed, the client has no answer). After a takeover:
`leased.taken` (the new lease is committed, nobody was asked), `leased.asked` (the other system has
answered, nothing is recorded). In atomic mode: `atomic.written` (the handler has returned, nothing
is committed), `atomic.settled` (all is committed, the client has no answer). A gated action:
`gate.claimed` (leased form only: the claim is committed, nothing was done), `gate.settling` (it was
done, and nobody knows). The clean-up: `retention.retired` (a batch is gone, the next is not begun).
Without these variables a point costs two look-ups in the environment.
"""

import os
import signal
import threading

POINTS = (
    "atomic.written",
    "atomic.settled",
    "leased.claimed",
    "leased.marked",
    "leased.called",
    "leased.settling",
    "leased.settled",
    "leased.taken",
    "leased.asked",
    "gate.claimed",
    "gate.settling",
    "retention.retired",
)


def checkpoint(name: str) -> None:
    """Die or stop here if the environment says so."""
    strike(name, app="IDEMPOTENCY")


def strike(name: str, *, app: str) -> None:
    """Die or stop here if the variables of this app name the point."""
    if os.environ.get(f"{app}_KILL_AT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get(f"{app}_STOP_AT") == name:
        # to this thread, and not to a process of many: it must not get a step further meanwhile
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
