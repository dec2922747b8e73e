"""What this app keeps: one module per table."""

from idempotency.models.audit import AuditEntry
from idempotency.models.keys import IdempotencyKey, KeyListing

__all__ = ["AuditEntry", "IdempotencyKey", "KeyListing"]
