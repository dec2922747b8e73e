"""The pages for staff: one module per table."""

from idempotency.admin.journal import AuditEntryAdmin
from idempotency.admin.keys import KeyListingAdmin

__all__ = ["AuditEntryAdmin", "KeyListingAdmin"]
