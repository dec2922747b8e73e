"""The receiver of events: where it is, and the signature it can check (standardwebhooks.com)."""

import base64
import hashlib
import hmac
import http.client
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from fulfilment.connectors.sandbox.provider.events import Event

TIMEOUT = 10.0  # seconds per wait; like most senders (Adyen 10, Svix 15)
_PREFIX = "whsec_"


class EndpointUnusable(Exception):
    """Events cannot be sent like this; the message is one sentence with a remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a delivery met: a status, or the name of the error in its place."""

    status: int | None
    error: str = ""

    @property
    def is_receipt(self) -> bool:
        """Only a 2xx says that the event is safe there."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One receiver."""

    url: str
    key: bytes = field(repr=False)

    def call(self, event: Event) -> Response:
        """One delivery. Never raises for what the network or the receiver does."""
        url = urlsplit(self.url)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.netloc, timeout=TIMEOUT)
        try:
            path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
            connection.request("POST", path, event.body, self._headers(event))
            return Response(status=connection.getresponse().status)
        except (OSError, http.client.HTTPException) as error:
            return Response(status=None, error=type(error).__name__)
        finally:
            connection.close()

    def _headers(self, event: Event) -> dict[str, str]:
        timestamp = str(int(time.time()))
        return {
            "Content-Type": "application/json",
            "User-Agent": "sandbox-provider",
            "webhook-id": event.id,
            "webhook-timestamp": timestamp,
            "webhook-signature": signature(
                event.body, event_id=event.id, timestamp=timestamp, key=self.key
            ),
        }


def endpoint(url: str, secret: str) -> Endpoint | None:
    """The receiver at `url`; None where no url is given. Raises `EndpointUnusable`."""
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise EndpointUnusable(f"--webhook-url {url!r} must be an http(s) address")
    return Endpoint(url=url, key=_key(secret))


def signature(body: bytes, *, event_id: str, timestamp: str, key: bytes) -> str:
    """Scheme v1: HMAC-SHA256 over id, timestamp and the raw body, in base64."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not secret.startswith(_PREFIX) or not 24 <= len(key) <= 64:
        raise EndpointUnusable(
            f"--webhook-url needs a --webhook-secret: {_PREFIX} and the base64 of 24 to 64 bytes"
        )
    return key
