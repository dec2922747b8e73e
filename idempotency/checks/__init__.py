"""System checks: what would break the contract is refused at start, with a remedy."""

from idempotency.checks.options import check_settings

__all__ = ["check_settings"]
