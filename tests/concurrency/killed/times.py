"""How long things take where workers are killed: short, and long enough for a busy machine."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

LEASE = timedelta(seconds=3)
TIMES = {
    "LEASE": LEASE,
    "TOTAL_DEADLINE": timedelta(seconds=1.5),
    "MARGIN": timedelta(seconds=0.2),
    "SCHEDULE": (timedelta(seconds=0.3),),
    "JITTER": 0.0,
    "LOOKUPS_PER_SECOND": 1000.0,
    "BREAKER_AFTER": 10_000,  # many are lost on purpose, one after the other
    "BACKOFF_FIRST": timedelta(seconds=0.2),
    "HINT": None,
    "EVENT_HINT": None,
    "PARK_SCHEDULE": (timedelta(seconds=0.3),),
}
PROMISES = {"VISIBLE_AFTER": timedelta(0), "NOT_FOUND_FINAL_AFTER": timedelta(seconds=0.5)}


def impatient(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The `FULFILMENT` setting with these times."""
    connectors = {name: given | PROMISES for name, given in setting["CONNECTORS"].items()}
    return {**setting, **TIMES, "CONNECTORS": connectors}
