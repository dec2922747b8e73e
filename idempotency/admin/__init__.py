"""The pages for staff: one module per table."""

from idempotency.admin.actions import GatedActionAdmin
from idempotency.admin.journal import AuditEntryAdmin
from idempotency.admin.keys import KeyListingAdmin

__all__ = ["AuditEntryAdmin", "GatedActionAdmin", "KeyListingAdmin"]
