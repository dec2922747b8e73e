"""Who works here, and keys in the states that matter to them."""

import json
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from idempotency.models import IdempotencyKey

ADA = UUID("00000000-0000-0000-0000-00000000ada0")
OPERATION = "desk.order"
LIST = "/admin/idempotency/keylisting/"
VIEW = ("view_keylisting", "view_auditentry")
DECIDE = (*VIEW, "settle_held", "release_held", "ask_held", "view_body")
_numbers = count(1)


def person(name: str, *permissions: str, **more: Any) -> Any:
    """A member of staff with exactly these permissions."""
    user = get_user_model().objects.create_user(name, is_staff=True, **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def browser(user: Any) -> Client:
    """A browser with a login of theirs."""
    client = Client()
    client.force_login(user)
    return client


def row(**changes: Any) -> IdempotencyKey:
    """A key that is held since an hour ago; every column can be said otherwise."""
    now = timezone.now()
    given: dict[str, Any] = {
        "user_id": ADA,
        "key": f"key-{next(_numbers)}",
        "request_hash": "f" * 64,
        "hash_version": 1,
        "operation": OPERATION,
        "status": "in_progress",
        "created_at": now - timedelta(hours=2),
        "sent_at": now - timedelta(hours=2),
        "claim_token": uuid4(),
        "held_at": now - timedelta(hours=1),
        "hold_reason": "the desk is closed",
        "next_check_at": now + timedelta(minutes=20),
    }
    return IdempotencyKey.objects.create(**(given | changes))


def answered(
    body: bytes = b'{"state":"paid"}', *, status: int = 201, headers: Any = None, **changes: Any
) -> IdempotencyKey:
    """A key with its final answer."""
    return row(
        status="completed" if status < 400 else "failed",
        response_code=status,
        response_headers=headers or [["Content-Type", "application/json"]],
        response_body=body,
        completed_at=timezone.now(),
        **({"sent_at": None, "claim_token": None, "held_at": None} | FREE | changes),
    )


FREE: dict[str, Any] = {"hold_reason": "", "next_check_at": None}


def address(key: IdempotencyKey, name: str = "change") -> str:
    """Where a page or a button of the key lives."""
    return f"{LIST}{key.user_id}_3A{key.key}/{name}/"


def given(key: IdempotencyKey, **fields: Any) -> dict[str, Any]:
    """What the form of the page carries for the hold as it stands now, with what was typed."""
    now = IdempotencyKey.objects.get(user_id=key.user_id, key=key.key)
    seen = {"held_at": now.held_at, "next_check_at": now.next_check_at}
    hidden = {name: time.isoformat() for name, time in seen.items() if time}
    return {**hidden, "reason": "ticket 7", "status": 201, "body": json.dumps({"n": 1}), **fields}


def stands(key: IdempotencyKey) -> IdempotencyKey:
    """The key's row as it is now."""
    return IdempotencyKey.objects.get(user_id=key.user_id, key=key.key)
