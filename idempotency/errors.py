"""What can go wrong, as sentences. Pure: no Django, no I/O.

The docstring of an error is the sentence a person reads; a class may say it shorter in `title`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from idempotency.contract import Answer


class IdempotencyError(Exception):
    """Something about an idempotent request went wrong."""


class Stated(IdempotencyError):
    """An error that is also an answer: it has a status, a code and advice for the next try.

    `safe_new_key` is true only where it is known that nothing was done under the key: an answer
    that never looked the key up may be a damaged retry of a request that was applied.
    """

    status: ClassVar[int] = 400
    code: ClassVar[str]
    retry: ClassVar[str] = "never"  # same_key | new_key | after | never
    safe_new_key: ClassVar[bool] = False
    title: ClassVar[str] = ""

    def __init__(self, detail: str | None = None, **members: Any) -> None:
        super().__init__(detail or self.sentence())
        self.detail = detail
        self.members: Mapping[str, Any] = members

    def answer(self) -> "Answer":
        """This error as application/problem+json."""
        from idempotency import problems  # settings are needed only once something is answered

        return problems.of_error(self)

    @classmethod
    def sentence(cls) -> str:
        """The title, or the first line of the docstring."""
        return cls.title or (cls.__doc__ or cls.__name__).strip().splitlines()[0]


class KeyMissing(Stated):
    """This request needs an Idempotency-Key header."""

    code = "key_missing"


class KeyInvalid(Stated):
    """The Idempotency-Key header cannot be read as one key."""

    code = "key_invalid"


class BodyInvalid(Stated):
    """The body of the request cannot be read."""

    code = "body_invalid"
    retry = "same_key"


class BodyTooLarge(Stated):
    """The body of the request is larger than this service accepts with a key."""

    status = 413
    code = "body_too_large"


class Unauthenticated(Stated):
    """The request carries no valid credentials."""

    status = 401
    code = "unauthenticated"
    retry = "same_key"


class KeyReused(Stated):
    """This key was used for a different request."""

    status = 422
    code = "key_reused"
    retry = "new_key"  # and not a safe one: the earlier request may have been applied


class Refusal(Stated):
    """The request was understood and refused.

    Raised by a handler: its own writes are undone, the answer is stored, and every retry gets it.
    Subclass it with `status`, `code` and a docstring; keyword arguments become members of the body.
    """

    code = "refused"
    retry = "new_key"
    safe_new_key = True  # the answer is stored: nothing was done under this key, nor will it be


class InputRefused(Stated):
    """The request cannot be carried out as it was sent; nothing happened.

    Raised by a handler for input that the fingerprint leaves out, such as a header: everything is
    rolled back, nothing is stored, and the same key may come again with better input. Subclass it
    with `code` and a docstring, as a `Refusal`.
    """

    code = "input_refused"


class Transient(Stated):
    """This cannot be done right now; nothing happened.

    Raised by a handler: everything is rolled back, nothing is stored, the same key may try again.
    `retry_after` is in whole seconds.
    """

    status = 503
    code = "unavailable"
    retry = "same_key"  # a new key is a new payment once the first one has gone through

    def __init__(self, detail: str | None = None, *, retry_after: int = 1, **members: Any) -> None:
        super().__init__(detail, **members)
        self.retry_after = max(1, retry_after)


class Unavailable(Transient):
    """The database did not answer in time; nothing is known to have happened."""


class VersionUnknown(Unavailable):
    """The key was first used with a later release of this service, which alone can compare it."""


class NothingHappened(Transient):
    """This cannot be done right now, and it is proven that nothing was begun.

    Raised by a leased handler after `sending()`: the key is released, the same key may try again.
    Proof is a connection that was never made, or an answer documented as "nothing was begun"; a
    time-out, a reset and a 5xx are none.
    """


class OutcomeUnknown(Stated):
    """It is not known yet whether the action happened.

    Raised by a leased handler that got no clear answer: the key is held until `recover` or a
    person finds out. `detail` is for staff, as the reason of the hold.
    """

    status = 202
    code = "outcome_unknown"
    retry = "same_key"
    safe_new_key = False


class AlreadyApplied(IdempotencyError):
    """The request was applied before, under a key whose row is no longer kept.

    Raised by a handler that finds its reference on record: with the same `fingerprint` the `answer`
    is stored again and sent with the marker of a replay, with another one the key was reused.
    """

    def __init__(self, answer: "Answer", fingerprint: str) -> None:
        super().__init__(self.__doc__)
        self.answer = answer
        self.fingerprint = fingerprint


class ClaimLost(IdempotencyError):
    """The claim is not this request's any more: its lease is over, or somebody else has the key.

    Whatever it has not committed is rolled back, and no call may be made.
    """


class NotPermitted(IdempotencyError):
    """You do not have the permission that this needs."""


class ReasonMissing(IdempotencyError):
    """Say why: the reason is kept in the audit trail."""


class HoldOver(IdempotencyError):
    """It is not held any more as the page showed it; nothing was done."""


class NobodyToAsk(IdempotencyError):
    """No guarded view of this name is installed any more, so there is nobody to ask."""
