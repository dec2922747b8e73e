"""What has to be forgotten, and what doubted, when the database came back from a backup.

What was committed after the backup is gone, and what it led to is not: answers in the cache, tokens
that were spent, calls that were made. A promotion that lost commits is the same, only that its new
timeline voids cache and tokens by itself.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from idempotency import cache, leases, tokens

log = logging.getLogger("idempotency")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step did, as a sentence, or why it could not."""

    said: str
    failed: bool = False


def recover() -> list[Step]:
    """Forget cached answers, void tokens, and ask before anything in progress runs again.

    Safe twice, and beside running processes. A step that fails does not keep the others.
    """
    return [
        step("Cached answers forgotten", cache.forget_all),
        step("Single-use tokens voided", tokens.forget_all),
        step("Requests in progress that may have called somebody", leases.doubt),
    ]


def step(what: str, take: Callable[[], int]) -> Step:
    """Take a step and say how many it was about; what it raises is logged, and said."""
    try:
        return Step(said=f"{what}: {take()}")
    except Exception as error:
        log.exception("step after a restore failed", extra={"action": "restore_failed"})
        return Step(said=f"{what}: not done ({type(error).__name__})", failed=True)
