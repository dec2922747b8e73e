"""What a check found, as frozen values. Pure: no Django, no I/O."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from idempotency.audit.evidence import Evidence


class Verdict(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "could not tell"


@dataclass(frozen=True, slots=True)
class Finding:
    """One verdict: what was seen, and for a failure what it means and where to look for its cause."""

    verdict: Verdict
    seen: str
    means: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of the contract, the steps whose exchanges show it, and who judges them."""

    code: str
    promise: str
    steps: tuple[str, ...]
    judge: Callable[[Evidence], Finding]


def passed(seen: str) -> Finding:
    """The promise was kept."""
    return Finding(Verdict.PASSED, seen)


def failed(seen: str, *, means: str, cause: str) -> Finding:
    """The promise was broken."""
    return Finding(Verdict.FAILED, seen, means, cause)


def unknown(seen: str) -> Finding:
    """Nothing can be said, and why."""
    return Finding(Verdict.UNKNOWN, seen)


def unanswered(evidence: Evidence, step: str) -> Finding:
    """Nothing can be said, because the step has no answer."""
    return unknown(f"No answer to judge ({step}): {evidence.why_not(step)}.")
