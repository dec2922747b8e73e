"""What this app keeps: one module per table."""

from idempotency.models.keys import IdempotencyKey, KeyListing

__all__ = ["IdempotencyKey", "KeyListing"]
