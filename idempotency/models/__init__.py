"""What this app keeps: one module per table."""

from idempotency.models.actions import GatedAction
from idempotency.models.audit import AuditEntry
from idempotency.models.keys import IdempotencyKey, KeyListing
from idempotency.models.tokens import ConsumedToken

__all__ = ["AuditEntry", "ConsumedToken", "GatedAction", "IdempotencyKey", "KeyListing"]
