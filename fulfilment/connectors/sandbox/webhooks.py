"""What the sandbox provider's events say. Pure.

A row is the event's type; the payment's own `status` must not contradict it. What has no row is
kept and ignored. The delivery headers are those of Standard Webhooks, and the bytes of an event
are the same in every delivery, so all of them are its content.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from fulfilment.reconcile.evidence import Finding
from fulfilment.webhooks import signatures
from fulfilment.webhooks.errors import EventMalformed
from fulfilment.webhooks.event import Event, Trigger

_Members: TypeAlias = Mapping[str, Any]
_MAX_AMOUNT: Final = 2**63 - 1  # what our own books can hold

# type -> what it says, and the status that goes with it
_FINDINGS: Final[Mapping[str, tuple[Finding, str]]] = {
    "transfer.succeeded": (Finding.DONE, "succeeded"),
    "transfer.failed": (Finding.NOT_DONE, "failed"),
    "transfer.reversed": (Finding.REVERSED, "reversed"),
    "airtime.succeeded": (Finding.DONE, "succeeded"),
    "airtime.failed": (Finding.NOT_DONE, "failed"),
}
# Somebody paid at a checkout: no evidence about anything that we sent, but a reason to send.
# type -> the statuses that go with it
_TRIGGERS: Final[Mapping[str, frozenset[str]]] = {
    "payment.succeeded": frozenset({"succeeded", "paid"})
}


class SandboxWebhooks:
    """The attribute `webhooks` of the sandbox's connectors."""

    def usable(self, secret: str, /) -> bool:
        """`whsec_` and the base64 of 24 to 64 bytes."""
        return signatures.key_of(secret) is not None

    def verify(
        self,
        headers: Mapping[str, str],
        raw_body: bytes,
        *,
        secrets: Iterable[str],
        now: datetime,
        skew: timedelta = signatures.SKEW,
    ) -> None:
        """Raises `SignatureRefused` unless one of `secrets` signed these bytes just now."""
        signatures.verify(headers, raw_body, secrets=secrets, now=now, skew=skew)

    def read(self, raw_body: bytes) -> Event:
        """The event in a body. Raises `EventMalformed`; odd details are left empty instead."""
        members = _object(raw_body)
        kind, data = members.get("type"), members.get("data")
        if not isinstance(kind, str):
            raise EventMalformed("The event's type is missing or not a text.")
        data = data if isinstance(data, dict) else {}
        return Event(
            dedupe_key=_name(members),
            type=kind,
            account=_needed(members, "account", str, ""),
            livemode=_needed(members, "livemode", bool, False),  # noqa: FBT003  # its default
            content=raw_body,
            reference=_text(data, "reference", 64) or None,
            finding=_finding(kind, data),
            amount=_amount(data),
            currency=_text(data, "currency", 3),
            recipient=_recipient(data),
            provider_status=_text(data, "status", 64),
            provider_id=_text(data, "id", 128),
            said_at=_moment(members.get("created_at")),
            trigger=_trigger(kind, data),
        )


def _object(raw_body: bytes) -> _Members:
    try:
        members = json.loads(raw_body.decode())
    except (ValueError, RecursionError) as error:
        raise EventMalformed("The body is not JSON in UTF-8.") from error
    if not isinstance(members, dict):
        raise EventMalformed("The body is not a JSON object.")
    return members


def _name(members: _Members) -> str:
    name: str = _needed(members, "id", str)
    if not name.strip():
        raise EventMalformed("The event's id is empty.")
    return name


def _needed(members: _Members, name: str, kind: type, default: Any = None) -> Any:
    value = members.get(name, default)
    if not isinstance(value, kind):
        raise EventMalformed(f"The event's {name} is missing or of the wrong kind.")
    return value


def _finding(kind: str, data: _Members) -> Finding | None:
    """A status that contradicts the type says nothing for sure; one that is left out does not."""
    if kind in _TRIGGERS:
        return None if _agrees(kind, data) else Finding.UNKNOWN
    if kind not in _FINDINGS:
        return None
    finding, status = _FINDINGS[kind]
    return finding if data.get("status", status) == status else Finding.UNKNOWN


def _agrees(kind: str, data: _Members) -> bool:
    return "status" not in data or data["status"] in list(_TRIGGERS[kind])  # it may be a list


def _trigger(kind: str, data: _Members) -> Trigger | None:
    if kind not in _TRIGGERS or not _agrees(kind, data):
        return None
    metadata = data.get("metadata")
    return Trigger(
        checkout_id=_text(data, "checkout_id", 128),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _recipient(data: _Members) -> str:
    recipient = data.get("recipient")
    if not isinstance(recipient, dict):
        return ""
    named = (_text(recipient, name, 34) for name in ("bank", "account", "phone"))
    return " ".join(part for part in named if part)[:64]


def _amount(data: _Members) -> int | None:
    """None for everything that is not an amount in minor units: never ours, so a conflict."""
    amount = data.get("amount")
    return amount if type(amount) is int and 0 < amount <= _MAX_AMOUNT else None


def _text(members: _Members, name: str, longest: int) -> str:
    value = members.get(name)
    fits = isinstance(value, str) and value.isprintable() and len(value) <= longest
    return value if isinstance(value, str) and fits else ""


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
