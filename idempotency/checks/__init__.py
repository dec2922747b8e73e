"""System checks: what would break the contract is refused at start, with a remedy."""

from idempotency.checks.awaited import check_awaited
from idempotency.checks.gates import check_gates, check_slots
from idempotency.checks.options import check_settings
from idempotency.checks.rollout import check_client, check_observing
from idempotency.checks.servers import check_servers

__all__ = [
    "check_awaited",
    "check_client",
    "check_gates",
    "check_observing",
    "check_servers",
    "check_settings",
    "check_slots",
]
