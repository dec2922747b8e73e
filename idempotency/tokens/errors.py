"""Why a single-use token is refused: errors and their pages from one source. Pure.

None of these is stored: a token is not part of what the key names, so the same key may come again
with a better one.
"""

from typing import ClassVar

from idempotency.errors import InputRefused
from idempotency.kinds import ProblemKind


class TokenRefused(InputRefused):
    """The single-use token is not accepted."""

    code = "token_refused"
    meaning: ClassVar[str]
    what_to_do: ClassVar[str]

    @classmethod
    def kind(cls) -> ProblemKind:
        """The problem as its page explains it."""
        return ProblemKind(
            code=cls.code,
            title=cls.sentence(),
            status=cls.status,
            retry=cls.retry,
            safe_new_key=cls.safe_new_key,
            meaning=cls.meaning,
            what_to_do=cls.what_to_do,
        )


class TokenUnknown(TokenRefused):
    """This token is not known."""

    code = "token_unknown"
    meaning = (
        "It was never issued for this purpose, was issued to somebody else, is damaged, or is so old "
        "that it is forgotten. Nothing was done and nothing was stored."
    )
    what_to_do = (
        "Get a new token, let the user confirm again, and send the same request with the same key."
    )


class TokenExpired(TokenRefused):
    """This token was valid for a short time only, and that is over."""

    code = "token_expired"
    meaning = "It was not used in time. Nothing was done and nothing was stored."
    what_to_do = (
        "Get a new token, let the user confirm again, and send the same request with the same key."
    )


class TokenMismatch(TokenRefused):
    """This token was issued for something else than this request asks for."""

    code = "token_mismatch"
    meaning = (
        "What the user has confirmed is not what the request says; `differs` names where. The token "
        "is unused. Nothing was done and nothing was stored."
    )
    what_to_do = (
        "Send what was confirmed; or get a new token for what is wanted now, and send it with the same "
        "key."
    )


class TokenUsed(TokenRefused):
    """This token was used with another Idempotency-Key."""

    status = 409
    code = "token_used"
    meaning = (
        "A token is good for one key and its retries, and another key was first. This request did "
        "nothing; the other one may have been applied."
    )
    what_to_do = (
        "If you mean the same action, send it with the key of its first try. Else look what became of "
        "that one; for another action get a new token and send it with this key."
    )


KINDS = tuple(refused.kind() for refused in (TokenUnknown, TokenExpired, TokenMismatch, TokenUsed))
