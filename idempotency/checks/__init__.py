"""System checks: what would break the contract is refused at start, with a remedy."""

from idempotency.checks.aliases import check_aliases, check_isolation
from idempotency.checks.awaited import check_awaited
from idempotency.checks.caches import check_cache_policy, check_caches
from idempotency.checks.gates import check_gates, check_slots
from idempotency.checks.limits import check_limits
from idempotency.checks.nulls import check_databases, check_models
from idempotency.checks.options import check_settings
from idempotency.checks.placement import check_inheritance, check_placement
from idempotency.checks.principals import check_principals
from idempotency.checks.rollout import check_client, check_observing
from idempotency.checks.servers import check_servers
from idempotency.checks.throttles import check_throttles

__all__ = [
    "check_aliases",
    "check_awaited",
    "check_cache_policy",
    "check_caches",
    "check_client",
    "check_databases",
    "check_gates",
    "check_inheritance",
    "check_isolation",
    "check_limits",
    "check_models",
    "check_observing",
    "check_placement",
    "check_principals",
    "check_servers",
    "check_settings",
    "check_slots",
    "check_throttles",
]
