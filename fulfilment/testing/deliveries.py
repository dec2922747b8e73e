"""Events, delivered as a provider delivers them: signed, through the project's own address."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, reverse

from fulfilment.webhooks import entries, signatures


def deliver(
    provider: str,
    body: bytes,
    *,
    headers: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """One delivery of an event by `provider`, as FULFILMENT["WEBHOOKS"] names it.

    It is signed as Standard Webhooks has it, with the first of the configured SECRETS; a provider
    that signs otherwise is given its own `headers`. It is on record afterwards and not applied:
    that is for `run_round`. Raises AssertionError unless it is answered with `status`.
    """
    signed = sign(body, secret=_secret(provider)) if headers is None else dict(headers)
    client = Client(raise_request_exception=False)
    address = _address(provider)
    answer: Any = client.post(address, body, content_type="application/json", headers=signed)
    if answer.status_code != status:
        raise AssertionError(_unexpected(answer, status))
    return cast("HttpResponse", answer)


def sign(body: bytes, *, secret: str, at: datetime | None = None) -> dict[str, str]:
    """The headers of Standard Webhooks for these bytes, signed now or at another time.

    Raises ValueError where the secret is none (`whsec_` and base64 of 24 to 64 bytes).
    """
    key = signatures.key_of(secret)
    if key is None:
        raise ValueError("the secret is not whsec_ and the base64 of 24 to 64 bytes")
    name = f"msg_{hashlib.sha256(body).hexdigest()[:24]}"
    sent = str(int((at or datetime.now(UTC)).timestamp()))
    signed = hmac.digest(key, f"{name}.{sent}.".encode() + body, hashlib.sha256)
    signature = "v1," + base64.b64encode(signed).decode()
    return {"webhook-id": name, "webhook-timestamp": sent, "webhook-signature": signature}


def _secret(provider: str) -> str:
    found = entries.entry(provider).secrets
    if not found:
        raise AssertionError(f"FULFILMENT['WEBHOOKS'][{provider!r}] has no SECRETS to sign with")
    return found[0]


def _address(provider: str) -> str:
    try:
        return reverse("fulfilment:webhook", args=[provider])
    except NoReverseMatch:
        raise AssertionError(
            'no address takes events: include("fulfilment.urls") in the project\'s urls.py'
        ) from None


def _unexpected(answer: HttpResponse, status: int) -> str:
    try:
        problem = json.loads(answer.content)
        said = f"{problem['code']}: {problem.get('detail') or problem['title']}"
    except (ValueError, KeyError, TypeError):
        said = answer.content[:200].decode(errors="replace") or "an empty answer"
    return f"the event was answered {answer.status_code} instead of {status}: {said}"
