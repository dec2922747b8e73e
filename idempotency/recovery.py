"""What became of a call whose end nobody saw: the view's `recover` hook, and what it may answer.

A hook `(record) -> Done | NotDone | Unknown` asks the other system by `record.reference`, outside
any transaction and within its own time limit. "Not found" is NotDone only where the other system
recognises the reference and would not act on it twice; everywhere else it is Unknown.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from idempotency.contract import Answer, Exit, Record, exit_of

log = logging.getLogger("idempotency")


@dataclass(frozen=True, slots=True)
class Done:
    """It happened. The key is settled with this answer.

    A function is called inside the transaction that settles the key, and returns the answer: the
    business rows that the first request could not write any more are written there.
    """

    answer: Answer | Callable[[], Answer]


@dataclass(frozen=True, slots=True)
class NotDone:
    """It is certain that nothing happened: the request may run again, or for the first time."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """It cannot be told yet. The key is held and asked about again; staff read the reason."""

    reason: str = "the other system could not say"


Recovery: TypeAlias = Done | NotDone | Unknown
Hook: TypeAlias = Callable[[Record], Recovery]


def ask(hook: Hook, record: Record) -> Recovery:
    """The hook's answer. Never raises: a hook that fails leaves it unknown."""
    try:
        return hook(record)
    except Exception as error:
        log.exception(
            "recovery failed",
            extra={
                "action": "recovery_failed",
                "operation": record.operation,
                "reference": record.reference,
            },
        )
        return Unknown(f"asking failed: {type(error).__name__}")


def answer_of(done: Done) -> Answer:
    """The answer to store, in the transaction that stores it. Raises ValueError for a "not now"."""
    answer = done.answer() if callable(done.answer) else done.answer
    if exit_of(answer.status, raised=False) is not Exit.SETTLE:
        raise ValueError(f"a recovered answer is final, and {answer.status} is not")
    return answer
