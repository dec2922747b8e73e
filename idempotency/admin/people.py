"""Whose a key is, by the name that staff know."""

from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import UUIDField


def named(scope: UUID) -> str:
    """`ada (52443c05-…)` where the users' own ids are the scopes; else the scope alone.

    A key outlives its user, and a project may have scopes of another kind.
    """
    model = get_user_model()
    if not isinstance(model._meta.pk, UUIDField):  # noqa: SLF001  Django's public name for it
        return str(scope)
    user = model._default_manager.filter(pk=scope).first()  # noqa: SLF001
    return f"{user.get_username()} ({scope})" if user else str(scope)
