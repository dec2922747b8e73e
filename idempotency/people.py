"""Who decides by hand, and that they say why. Asked in the services, so no page goes past it."""

from typing import Any

from idempotency.errors import NotPermitted, ReasonMissing


def allowed(user: Any, permission: str) -> str:
    """How the person stands in the trail. Raises NotPermitted."""
    if not user.has_perm(permission):
        raise NotPermitted(NotPermitted.__doc__)
    return named(user)


def named(user: Any) -> str:
    """The name under which a person's steps are on record."""
    return f"staff:{user.get_username()}"


def given(reason: str) -> str:
    """Superusers give one, too: whoever asks later asks why, and not who may. Raises ReasonMissing."""
    if not reason.strip():
        raise ReasonMissing(ReasonMissing.__doc__)
    return reason.strip()
