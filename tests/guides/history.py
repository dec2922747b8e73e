"""A customer about whom there is something in every table that can hold anything of one."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone

from fulfilment.connectors import registry
from fulfilment.models import (
    Case,
    CaseAction,
    Fulfilment,
    ProviderEvent,
    ProviderEventConflict,
    ProviderEventPayload,
)
from fulfilment.reconcile.evidence import Finding
from idempotency import trail
from idempotency.models import ConsumedToken
from ledgerline.bank import freezes, payments, usage
from ledgerline.bank.models import Account, User
from tests.integration.bank.conftest import Claim
from tests.integration.bank.desk import Opened
from tests.integration.bank.outside import EXTERNAL, row_of, says, sent
from tests.integration.bank.phone import B0, Phone

NAME = "okafor"  # in whatever says who she is
WRITTEN = "for the flat"  # in what she wrote on a transfer: the books keep it


def lived(ada: Account, *, key: str) -> bytes:
    """Ada paid out all that she had; returns the answer to `key`."""
    owner = ada.owner
    owner.first_name, owner.email = NAME, f"ada@{NAME}.example"
    owner.save(update_fields=["first_name", "email"])
    phone = Phone(ada)
    answer = phone.pay(B0 | {"narration": WRITTEN}, key=key)
    assert answer.status_code == 201
    row = _paid_abroad(phone)
    _told_of(row)
    _worked_on(row)
    _paid_and_used(ada)
    return answer.content


def frozen(account: Account) -> None:
    """Its owner, by staff, with a reason."""
    staff, _ = User.objects.get_or_create(username="sola", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename="freeze"))
    freezes.freeze(account.owner, staff=staff, reason="the customer leaves", seen=0)
    LogEntry.objects.create(
        user=staff, content_type=ContentType.objects.get_for_model(User),
        object_id=str(account.owner_id), object_repr=account.owner.first_name, action_flag=2,
    )  # fmt: skip


def _paid_abroad(phone: Phone) -> Fulfilment:
    key = str(uuid4())
    body = EXTERNAL | {"amount": 90_000, "narration": WRITTEN}
    row = sent(row_of(phone.pay(body, key=key)["Location"]))
    told: dict[str, Any] = {"body": f'{{"sender": "{NAME}"}}'.encode(), "recipient": _named(row)}
    return says(row, Finding.DONE, **told)


def _named(row: Fulfilment) -> str:
    """Who was paid, as the provider names it."""
    return registry.connector(row.connector).recipient(row.instruction)


def _told_of(row: Fulfilment) -> None:
    now = timezone.now()
    event = ProviderEvent.objects.create(
        provider="sandbox", livemode=False, dedupe_key="e1", type="transfer.done", digest="d",
        received_at=now, status="received", next_check_at=now,
    )  # fmt: skip
    ProviderEvent.objects.filter(pk=event.pk).update(
        status="applied", applied_at=now, next_check_at=None, fulfilment=row
    )
    ProviderEventPayload.objects.create(event=event, body=NAME.encode())
    ProviderEventConflict.objects.create(
        event=event, digest="x", body=NAME.encode(), received_at=now
    )


def _worked_on(row: Fulfilment) -> None:
    now = timezone.now()
    case = Case.objects.create(
        fulfilment=row, reason="opened_by_agent", opened_at=now, opened_by="staff:sola",
        closed_at=now, closed_by="staff:sola",
    )  # fmt: skip
    CaseAction.objects.create(case=case, action="noted", actor="staff:sola", acted_at=now)


def _paid_and_used(ada: Account) -> None:
    scope, now = ada.owner_id, timezone.now()
    order = payments.Order(amount=500, currency="NGN", phone="+2348012345678")
    payments.record(order, Opened("c1", "https://pay.example", 500, "NGN", b""), claim=Claim(scope))
    at = now - timedelta(days=1)
    usage.record([usage.Event(id="u1", type="call", quantity=1, occurred_at=at)], owner=scope)
    ConsumedToken.objects.create(
        digest="a" * 64, user_id=scope, purpose="transfer", reference="r", consumed_at=now
    )
    trail.note(actor="staff:sola", action="asked", subject=trail.key_subject(scope, "k"))
