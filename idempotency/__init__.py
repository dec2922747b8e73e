"""One request, applied once: the Idempotency-Key contract for Django and REST framework.

Importing the package needs neither ready apps nor REST framework: names are loaded when used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idempotency.claims import Claim, claim_of
    from idempotency.completion import answer_of, complete, correct
    from idempotency.contract import Answer, Progress, Record
    from idempotency.decorators import idempotent
    from idempotency.errors import (
        AlreadyApplied,
        ClaimLost,
        InputRefused,
        NothingHappened,
        OutcomeUnknown,
        Refusal,
        Transient,
    )
    from idempotency.gate.decorators import gated
    from idempotency.key import reference_of
    from idempotency.leased_claims import LeasedClaim, leased_claim_of
    from idempotency.problems import ProblemKind, problem
    from idempotency.recovery import Done, NotDone, Recovery, Unknown

__all__ = [
    "AlreadyApplied",
    "Answer",
    "Claim",
    "ClaimLost",
    "Done",
    "InputRefused",
    "LeasedClaim",
    "NotDone",
    "NothingHappened",
    "OutcomeUnknown",
    "ProblemKind",
    "Progress",
    "Record",
    "Recovery",
    "Refusal",
    "Transient",
    "Unknown",
    "answer_of",
    "claim_of",
    "complete",
    "correct",
    "gated",
    "idempotent",
    "leased_claim_of",
    "problem",
    "reference_of",
]

_HOMES = {
    "AlreadyApplied": "errors",
    "Answer": "contract",
    "Claim": "claims",
    "ClaimLost": "errors",
    "Done": "recovery",
    "InputRefused": "errors",
    "LeasedClaim": "leased_claims",
    "NotDone": "recovery",
    "NothingHappened": "errors",
    "OutcomeUnknown": "errors",
    "ProblemKind": "problems",
    "Progress": "contract",
    "Record": "contract",
    "Recovery": "recovery",
    "Refusal": "errors",
    "Transient": "errors",
    "Unknown": "recovery",
    "answer_of": "completion",
    "claim_of": "claims",
    "complete": "completion",
    "correct": "completion",
    "gated": "gate.decorators",
    "idempotent": "decorators",
    "leased_claim_of": "leased_claims",
    "problem": "problems",
    "reference_of": "key",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
