"""What the waves are made with, in the test's own process and in its workers. No framework here."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

PER_SECOND = 25  # few enough that a busy machine could ask more, were it allowed to
SILENT = 3  # failures in a row, then the breaker opens
NEXT = timedelta(hours=2)  # after a look-up that settled nothing
JITTER = 0.2
_CLASS = "fulfilment.connectors.sandbox.SandboxConnector"


def impatient(settings: Mapping[str, Any], *, url: str, frozen: str, secret: str) -> dict[str, Any]:
    """Two connectors to one provider, each with a budget of its own, and one to a frozen provider."""
    # Nothing is ever known to be absent here, so each row is asked about once.
    provider = {"CLASS": _CLASS, "SECRET": secret, "NOT_FOUND_FINAL_AFTER": timedelta(days=1)}
    quick = {"LOOK_UP_DEADLINE": timedelta(seconds=0.2)}
    return dict(settings) | {
        "HINT": None,
        "LOOKUPS_PER_SECOND": float(PER_SECOND),
        "JITTER": JITTER,
        "SCHEDULE": (NEXT,),
        "BREAKER_AFTER": SILENT,
        "BREAKER_OPEN": timedelta(minutes=10),
        "CONNECTORS": {
            "sandbox": provider | {"URL": url},
            "beside": provider | {"URL": url},
            "frozen": provider | {"URL": frozen} | quick,
        },
    }
