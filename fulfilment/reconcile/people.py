"""Who may do what. Asked in the services, so no page and no command goes past it."""

from typing import Any

from django.contrib.auth.models import Permission
from django.db.models import Q

from fulfilment.errors import NotAllowed

RESOLVE = {
    "fulfilled": "fulfilment.resolve_fulfilled",
    "failed": "fulfilment.resolve_failed",
}
ASK = "fulfilment.ask_provider"
CANCEL = "fulfilment.cancel_pending"
CORRECT = "fulfilment.correct_failed"
AGAIN = "fulfilment.send_again"
REPLAY = "fulfilment.replay_event"  # about events: it decides no payment and opens no case
_ANY = (*RESOLVE.values(), CORRECT, AGAIN, CANCEL, ASK)


def may(user: Any, permission: str) -> bool:
    """Was this permission given to the person or to a group of theirs?

    Superusers are not exempt: who administers the system does not thereby decide about money.
    So this asks for the grant itself, where `user.has_perm` would say yes to a superuser.
    """
    if not (user.is_active and user.is_authenticated and user.is_staff):
        return False
    app, codename = permission.split(".")
    granted = Permission.objects.filter(Q(user=user) | Q(group__user=user))
    return granted.filter(content_type__app_label=app, codename=codename).exists()


def require(user: Any, permission: str) -> str:
    """The person's name for the journal; raises `NotAllowed`."""
    if not may(user, permission):
        raise NotAllowed(permission)
    return name_of(user)


def require_any(user: Any) -> str:
    """For what every agent may do: take a case, leave a note."""
    if not any(may(user, permission) for permission in _ANY):
        raise NotAllowed(ASK)
    return name_of(user)


def name_of(user: Any) -> str:
    """How a person stands in the journal."""
    return f"staff:{user.get_username()}"[:150]
