"""A provider whose events come with a literal secret and prove nothing, and its connector.

Like some real ones: events hold ids only and have none of their own, a reference is remembered for
a day, an error is stored and given again for the same reference, and a transfer is taken first and
decided later.
"""

import hmac
import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from fulfilment.connectors import http
from fulfilment.connectors.base import (
    Accepted,
    Capabilities,
    Declined,
    Dedupe,
    Done,
    Instruction,
    LookUp,
    NoInformation,
    NotFound,
    NotSent,
    Outcome,
    Refused,
    Reversed,
    Unknown,
)
from fulfilment.reconcile.evidence import Finding
from fulfilment.webhooks.errors import EventMalformed, SignatureRefused
from fulfilment.webhooks.event import Event

_FINDINGS = {
    "SUCCESSFUL": Finding.DONE,
    "FAILED": Finding.NOT_DONE,
    "RETURNED": Finding.REVERSED,
}
_LOOK_UP_DEADLINE: Final = timedelta(seconds=5)


class LiteralWebhooks:
    """The header `verif-hash` is the secret itself."""

    def usable(self, secret: str, /) -> bool:
        return len(secret) >= 16

    def verify(
        self, headers: Mapping[str, str], raw_body: bytes, *, secrets: Iterable[str], **_: Any
    ) -> None:
        given = (headers.get("verif-hash") or "").encode()
        fits = [hmac.compare_digest(given, secret.encode()) for secret in secrets]
        if not any(fits):
            raise SignatureRefused("The header verif-hash is not the secret.")

    def read(self, raw_body: bytes) -> Event:
        try:
            data = json.loads(raw_body)["data"]
            reference, status = str(data["reference"]), str(data["status"])
        except (ValueError, TypeError, KeyError) as error:
            raise EventMalformed("The body is not an event of this provider.") from error
        return Event(
            type="transfer",
            account="",
            livemode=True,
            content=json.dumps([reference, status]).encode(),
            reference=reference,
            finding=_FINDINGS.get(status),
        )


class LiteralConnector:
    """Settings: URL, KEY, LOOK_UP_DEADLINE."""

    webhooks = LiteralWebhooks()
    capabilities = Capabilities(
        dedupe=Dedupe.KEY_WINDOW,
        dedupe_window=timedelta(hours=24),
        errors_cached=True,
        visible_after=timedelta(seconds=1),
        not_found_final_after=timedelta(seconds=30),
        late_reversal_horizon=timedelta(days=30),
        webhook_has_id=False,
        webhook_authenticates_body=False,
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        if not settings.get("KEY"):
            raise ValueError("the connector's KEY is missing")
        self._url = f"{settings['URL']}/transfers"
        self._headers = {"Authorization": f"Bearer {settings['KEY']}"}
        self._look_up_deadline = settings.get("LOOK_UP_DEADLINE", _LOOK_UP_DEADLINE)

    def send(self, instruction: Instruction, /) -> Outcome:
        order = {
            "reference": instruction.reference,
            "amount": instruction.amount,
            "currency": instruction.currency,
            "account": instruction.instruction["account"],
        }
        reply = http.call(
            "POST", self._url, deadline=instruction.deadline, headers=self._headers, json_body=order
        )
        if isinstance(reply, NotSent | Unknown):
            return reply
        if reply.status == 401:
            return Refused(reason="the key is not taken", body=reply.body)
        said = _said(reply, instruction.reference)
        return said if said is not None else Unknown(reason=_odd(reply), body=reply.body)

    def look_up(self, reference: str, /) -> LookUp:
        url = f"{self._url}/{reference}"
        reply = http.call("GET", url, deadline=self._look_up_deadline, headers=self._headers)
        if isinstance(reply, NotSent | Unknown):
            return NoInformation(reason=reply.reason)
        if reply.status == 404 and reply.json() == {"message": "not found"}:
            return NotFound(body=reply.body)
        said = _said(reply, reference)
        return said if said is not None else NoInformation(reason=_odd(reply), body=reply.body)

    def recipient(self, instruction: Mapping[str, Any], /) -> str:
        return f"account ending {instruction['account'][-4:]}"


def _said(reply: http.Reply, reference: str) -> Done | Reversed | Declined | Accepted | None:
    """What a transfer's own object says; None for everything that is not one."""
    data = reply.json()
    if reply.status != 200 or not isinstance(data, dict) or data.get("reference") != reference:
        return None
    word, amount, currency = data.get("status"), data.get("amount"), data.get("currency")
    if word == "NEW":
        return Accepted(status=word, body=reply.body)
    if word == "FAILED":
        return Declined(reason="the provider says FAILED", status=word, body=reply.body)
    kind = {"SUCCESSFUL": Done, "RETURNED": Reversed}.get(str(word))
    if kind is None or type(amount) is not int or not isinstance(currency, str):
        return None
    named = str(data.get("recipient", ""))
    return kind(
        amount=amount, currency=currency, status=str(word), body=reply.body, recipient=named
    )


def _odd(reply: http.Reply) -> str:
    return f"HTTP {reply.status} without a meaning"
