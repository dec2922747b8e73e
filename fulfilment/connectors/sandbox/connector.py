"""Sends payments to the sandbox provider and asks it about them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote, urlsplit

from fulfilment.connectors import http
from fulfilment.connectors.base import (
    Capabilities,
    Dedupe,
    Instruction,
    LookUp,
    NoInformation,
    NotSent,
    Outcome,
)
from fulfilment.connectors.sandbox import mapping

# On loopback a booking is visible at once; the distance between two look-ups that shall agree is
# never nothing, or three answers of the same instant would count as three.
VISIBLE_AFTER: Final = timedelta(seconds=1)
# The provider promises nothing about a request that is still on its way. It has no queue, so
# what it has not booked within this time it never received.
NOT_FOUND_FINAL_AFTER: Final = timedelta(seconds=30)
LOOK_UP_DEADLINE: Final = timedelta(seconds=5)


class SandboxConnector:
    """The connector `sandbox`.

    Settings: URL, SECRET; and, all with a default, VISIBLE_AFTER, NOT_FOUND_FINAL_AFTER and
    LOOK_UP_DEADLINE (timedeltas). Instructions name `bank`, `account` and may have a `narration`.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Raises ValueError, without showing the secret, where URL or SECRET cannot be used."""
        self._payments = f"{_base_url(settings)}/v1/payments"
        self._headers = {"Authorization": f"Bearer {_secret(settings)}"}
        self._look_up_deadline: timedelta = settings.get("LOOK_UP_DEADLINE", LOOK_UP_DEADLINE)
        self._capabilities = _capabilities(settings)

    @property
    def capabilities(self) -> Capabilities:
        """What the provider promises."""
        return self._capabilities

    def send(self, instruction: Instruction, /) -> Outcome:
        """Asks for the payment once, within `instruction.deadline`."""
        try:
            order = _order(instruction)
        except KeyError as error:
            return NotSent(reason=f"the instruction names no {error.args[0]}")
        reply = http.call(
            "POST",
            self._payments,
            deadline=instruction.deadline,
            headers=self._headers,
            json_body=order,
        )
        if not isinstance(reply, http.Reply):
            return reply
        return mapping.sent(reply, reference=instruction.reference)

    def look_up(self, reference: str, /) -> LookUp:
        """Asks what the provider has under `reference`; begins nothing."""
        url = f"{self._payments}/{quote(reference, safe='')}"
        reply = http.call("GET", url, deadline=self._look_up_deadline, headers=self._headers)
        if not isinstance(reply, http.Reply):
            return NoInformation(reason=reply.reason)
        return mapping.looked_up(reply, reference=reference)


def _order(instruction: Instruction) -> dict[str, Any]:
    wanted = instruction.instruction
    return {
        "reference": instruction.reference,
        "amount": instruction.amount,
        "currency": instruction.currency,
        "recipient": {"bank": wanted["bank"], "account": wanted["account"]},
        "narration": wanted.get("narration", ""),
    }


def _capabilities(settings: Mapping[str, Any]) -> Capabilities:
    return Capabilities(
        dedupe=Dedupe.REFERENCE_FOREVER,
        errors_cached=False,
        lookup_by_reference=True,
        visible_after=settings.get("VISIBLE_AFTER", VISIBLE_AFTER),
        not_found_final_after=settings.get("NOT_FOUND_FINAL_AFTER", NOT_FOUND_FINAL_AFTER),
        late_reversal_horizon=timedelta(0),  # a booked payment never comes back
        webhook_has_id=False,
        webhook_authenticates_body=False,
    )


def _base_url(settings: Mapping[str, Any]) -> str:
    url = str(settings.get("URL", "")).rstrip("/")
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
        raise ValueError("the sandbox connector's URL must be an http(s) address")
    return url


def _secret(settings: Mapping[str, Any]) -> str:
    """A line break in a header is refused by the client with a message that quotes the header."""
    secret = str(settings.get("SECRET", ""))
    if not secret or not secret.isascii() or not secret.isprintable() or secret != secret.strip():
        raise ValueError("the sandbox connector's SECRET must be visible ASCII text")
    return secret
