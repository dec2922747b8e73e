"""The passing of time for guarded actions."""

from datetime import timedelta

from django.db.models.functions import Now

from idempotency import store
from idempotency.gate.identity import UNGATED, Target, identity_of
from idempotency.models import GatedAction


def expire_action(
    action: str, *, target: Target = UNGATED, key: str | None = None, namespace: str | None = None
) -> None:
    """The lease of a claimed action is over; it is named as in `gate.claim`.

    `gate.hold_expired()`, which the sweep calls, holds it from now on. Raises AssertionError if the
    action is not claimed.
    """
    identity = identity_of(action, target=target, key=key, namespace=namespace)
    if identity is None:
        raise AssertionError("an action without target and key is not on record")
    rows = GatedAction.objects.using(store.alias(None)).filter(
        slot=identity.slot,
        action=identity.action,
        target=identity.target,
        key=identity.key,
        namespace=identity.namespace,
    )
    claimed = rows.filter(state=GatedAction.State.CLAIMED)
    if not claimed.update(locked_until=Now() - timedelta(seconds=1)):
        states = ", ".join(rows.values_list("state", flat=True)) or "not on record"
        raise AssertionError(f"the action has no lease that could expire: it is {states}")
