"""Real processes that die or freeze at a named point of this app (`fulfilment.checkpoints`)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final

from fulfilment.checkpoints import POINTS
from idempotency import testing
from idempotency.testing import Checkpoints, Frozen

_OURS: Final = Checkpoints(
    points=POINTS,
    variables="FULFILMENT",
    passed_by="dispatch.* is passed by whoever sends a row that is due, webhook.* by a new event.",
)


def killed_at(point: str, call: Callable[[], Any]) -> None:
    """Run `call` in a child process that gets SIGKILL at `point`; as `idempotency.testing` has it.

    `killed_at("dispatch.marked", dispatch_now)` leaves a row whose call may have been made.
    """
    testing.killed_at(point, call, among=_OURS)


def frozen_at(point: str, call: Callable[[], Any]) -> AbstractContextManager[Frozen]:
    """Run `call` in a child process that stands still at `point` while the block runs."""
    return testing.frozen_at(point, call, among=_OURS)
