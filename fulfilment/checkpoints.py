"""Points at which a test kills or stops a worker process.

    FULFILMENT_KILL_AT=dispatch.marked    the process gets SIGKILL there
    FULFILMENT_STOP_AT=dispatch.claimed   the process gets SIGSTOP there; SIGCONT wakes it up

Names: `dispatch.claimed` (attempt and lease are committed), `dispatch.marked` (the mark is
committed, no byte has left), `dispatch.answered` (the call has returned, nothing is recorded);
`webhook.verified` (nothing is stored), `webhook.inserted` (not committed), `webhook.committed` (the
filter does not know), `webhook.remembered` (not answered).
Without these variables a point costs two look-ups in the environment.
"""

from idempotency.checkpoints import strike

POINTS = (
    "dispatch.claimed",
    "dispatch.marked",
    "dispatch.answered",
    "webhook.verified",
    "webhook.inserted",
    "webhook.committed",
    "webhook.remembered",
)


def checkpoint(name: str) -> None:
    """Die or stop here if the environment says so."""
    strike(name, app="FULFILMENT")
