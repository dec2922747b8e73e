"""The audit trail: what people did by hand to keys and actions, for whoever asks later."""

from collections.abc import Mapping
from uuid import UUID

from idempotency import store
from idempotency.models import AuditEntry

_NONE: Mapping[str, str] = {}


def note(
    *, actor: str, action: str, subject: str, reason: str = "", details: Mapping[str, str] = _NONE
) -> None:
    """Write one entry, in the caller's transaction: what was done and its entry commit together.

    `action` is in the past tense; `subject` is what `key_subject` or `action_subject` returns.
    Whoever needs a reason from a person refuses before this. Nothing secret belongs in `details`.
    """
    AuditEntry.objects.using(store.alias(None)).create(
        actor=actor, action=action, subject=subject, reason=reason, details=dict(details)
    )


def key_subject(scope: UUID, key: str) -> str:
    """How a key is named in the trail."""
    return f"key:{scope}:{key}"


def action_subject(slot: str) -> str:
    """How a guarded action is named in the trail."""
    return f"action:{slot}"
