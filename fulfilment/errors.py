"""What may go wrong, each with the sentence that a person reads. Pure."""

from datetime import datetime


class FulfilmentError(Exception):
    """The fulfilment could not be changed."""

    code = "fulfilment_error"

    def __str__(self) -> str:
        return super().__str__() or str(type(self).__doc__)


class Stale(FulfilmentError):
    """Somebody else changed this since you opened it. Look at it again and decide again."""

    code = "stale"

    def __init__(self, *, state: str, version: int, who: str = "", at: datetime | None = None):
        self.state, self.version, self.who, self.at = state, version, who, at
        super().__init__()

    def __str__(self) -> str:
        by = f"{self.who} changed" if self.who else "Somebody changed"
        when = f" at {self.at:%Y-%m-%d %H:%M:%S} UTC" if self.at else ""
        state = self.state.replace("_", " ")
        return f"{by} this{when}: it is now “{state}”. Look at it again and decide again."


class NotAllowed(FulfilmentError):
    """You do not have the permission for this. Being a superuser is not enough."""

    code = "not_allowed"

    def __init__(self, permission: str = ""):
        self.permission = permission
        super().__init__()

    def __str__(self) -> str:
        return (
            f"This needs the permission {self.permission}, given to you or to one of your groups."
        )


class VerdictRefused(FulfilmentError):
    """This verdict contradicts what is known."""

    code = "verdict_refused"

    def __init__(self, reason: str = ""):
        self.reason = reason
        super().__init__(reason)


class NotAskedNow(VerdictRefused):
    """The provider is not asked at this moment, for its sake or for ours."""

    code = "not_asked_now"

    def __init__(self, reason: str = "", *, until: datetime | None = None):
        self.until = until  # nobody asks before; None: it is only busy
        super().__init__(reason)


class NoCase(FulfilmentError):
    """It is decided and no case is open. Open a case first, if there is something to look at."""

    code = "no_case"


class NotCancellable(FulfilmentError):
    """Only what was never sent can be cancelled: this may have reached the provider."""

    code = "not_cancellable"

    def __init__(self, *, state: str = ""):
        self.state = state
        super().__init__()

    def __str__(self) -> str:
        if not self.state:
            return "There is no payment on record to cancel."
        if self.state == "pending":
            return "It was sent before and may have arrived, so it cannot be cancelled any more."
        return f"It is “{self.state.replace('_', ' ')}”: only what was never sent can be cancelled."


class Gone(FulfilmentError):
    """This database does not know the payment: it was restored, or promoted without it."""

    code = "gone"


class UnknownKind(FulfilmentError):
    """Nobody registered handlers for this kind, so its outcome could reach no books."""

    code = "unknown_kind"


class UnknownConnector(FulfilmentError):
    """No connector of this name is configured."""

    code = "unknown_connector"


class HandlerFailed(FulfilmentError):
    """The books could not take the outcome; the verdict was undone and the evidence kept."""

    code = "handler_failed"
