"""What a provider's event says, in our words, and what reads it. Pure: no Django, no clock, no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from fulfilment.connectors.base import NoInformation
from fulfilment.reconcile.evidence import CONCLUSIVE, Finding, Statement
from fulfilment.webhooks.errors import EventMalformed

# What the columns hold. A longer dedupe key would not fit into an event id beside its provider.
_LONGEST = {"dedupe_key": 200, "type": 128, "account": 64, "reference": 64, "currency": 3}
# Beyond these nobody means a moment, and some that PostgreSQL keeps cannot be read again: one such
# row of evidence, which nobody may change, would keep its fulfilment from ever being settled.
_YEARS: Final = range(1970, 9999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Somebody paid: what a white-listed event may start something for."""

    checkout_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event. Raises `EventMalformed` where it has no type, or a text cannot be stored.

    With `finding` it is evidence about `reference`, with `trigger` it may start something; with
    neither it is kept and ignored. An amount that is not ours is for the policy to judge, so what
    cannot be read as an amount is None, not an error. So is a time that has no zone or no sense.
    """

    # Its own id: stable over deliveries, unique per provider, account and mode. Left out where the
    # connector says that its provider gives none (`webhook_has_id`): the content names it then.
    dedupe_key: str = ""
    type: str
    account: str
    livemode: bool | None  # None: events of this provider do not tell their mode
    content: bytes  # what must be the same in every delivery; its digest is compared
    provider: str = ""  # as FULFILMENT["WEBHOOKS"] names it; the inbox fills it in
    reference: str | None = None  # ours, as we gave it to the provider
    finding: Finding | None = None
    amount: int | None = None
    currency: str = ""
    recipient: str = ""  # masked
    provider_status: str = ""
    provider_id: str = ""
    said_at: datetime | None = None
    trigger: Trigger | None = None

    def __post_init__(self) -> None:
        if not self.type.strip():
            raise EventMalformed("The event has no type.")
        for name, longest in _LONGEST.items():
            value = getattr(self, name) or ""
            if len(value) > longest or (value and not value.isprintable()):
                raise EventMalformed(f"The event's {name} is too long or not printable.")

        object.__setattr__(self, "said_at", _placed(self.said_at))

    @property
    def conclusive(self) -> bool:
        """Can it settle the fulfilment at all?"""
        return self.finding in CONCLUSIVE

    @property
    def mode(self) -> str:
        """`live` or `test`, once the inbox has filled it in."""
        return "live" if self.livemode else "test"

    def statement(self, *, body: bytes) -> Statement:
        """What it states as evidence, with the body to keep."""
        return Statement(
            finding=self.finding or Finding.UNKNOWN,
            amount=self.amount,
            currency=self.currency,
            recipient=self.recipient,
            provider_status=self.provider_status,
            provider_id=self.provider_id,
            detail=f"event {self.type}",
            body=body,
        )


def _placed(moment: datetime | None) -> datetime | None:
    if moment is None or moment.tzinfo is None:
        return None
    try:
        placed = moment.astimezone(UTC)
    except OverflowError:
        return None
    return placed if placed.year in _YEARS else None


class Mailbox(Protocol):
    """What a provider tells us if we fetch it: the attribute `mailbox` of its connector.

    Fetched over a call that we authenticate, so what it says is believed like an answer.
    """

    def letters(self) -> Sequence[Any] | NoInformation:
        """The messages that wait, oldest first. Taking none of them away: a crash must lose none."""

    def events(self, letter: Any) -> Sequence[bytes]:
        """The bodies of its events, each of which `read` names `<letter.name>/<number from 0>`.

        At least one, be it of a type that says nothing.
        """

    def read(self, raw_body: bytes) -> Event:
        """The event in such a body. Raises `EventMalformed`."""


class Webhooks(Protocol):
    """How one provider signs and words its events: the attribute `webhooks` of its connector."""

    def usable(self, secret: str, /) -> bool:
        """Could this secret prove anything? A system check asks."""

    def verify(
        self,
        headers: Mapping[str, str],
        raw_body: bytes,
        *,
        secrets: Iterable[str],
        now: datetime,
        skew: timedelta,
    ) -> None:
        """Raises `SignatureRefused` unless one of `secrets` proves these bytes; nothing else."""

    def read(self, raw_body: bytes) -> Event:
        """What a verified body says. Raises `EventMalformed` where it is not an event."""
