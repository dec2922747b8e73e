"""Why an action does not run, as sentences. Pure: no Django, no I/O."""

from datetime import datetime
from typing import Any

from idempotency.errors import Stated, Transient


class NotClaimed(Stated):
    """This action is not yours to run."""

    status = 409
    code = "action_not_claimed"
    slot: str = ""


class AlreadySettled(NotClaimed):
    """This action was done before; it is not done again.

    `result` is what it came to then; `omitted` is true if that could not be kept.
    """

    code = "action_settled"

    def __init__(
        self,
        detail: str | None = None,
        *,
        slot: str = "",
        result: Any = None,
        omitted: bool = False,
        at: datetime | None = None,
    ) -> None:
        super().__init__(detail, **({} if at is None else {"settled_at": at}))
        self.slot, self.result, self.omitted, self.settled_at = slot, result, omitted, at


class InProgress(NotClaimed):
    """This action is being done right now by somebody else. Look at its outcome a moment later."""

    code = "action_in_progress"
    retry = "after"

    def __init__(
        self, detail: str | None = None, *, slot: str = "", retry_after: int = 1, **members: Any
    ) -> None:
        super().__init__(detail, **members)
        self.slot, self.retry_after = slot, max(1, retry_after)


class Held(NotClaimed):
    """Nobody knows whether this action happened. A person has to find out and settle or release it."""

    code = "action_held"
    retry = "after"

    def __init__(
        self,
        detail: str | None = None,
        *,
        slot: str = "",
        reason: str = "",
        since: datetime | None = None,
    ) -> None:
        super().__init__(detail, **({} if since is None else {"held_since": since}))
        self.slot, self.reason, self.since = slot, reason, since


class Closed(Transient):
    """The log of actions cannot be read, so the action was not begun. Nothing happened."""

    code = "action_log_closed"
