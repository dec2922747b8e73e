"""Signatures of Standard Webhooks (standardwebhooks.com), checked over the raw bytes. Pure.

The reference library computes the same. Its `verify` is not used: it reads a clock of its own,
decodes the body first, knows one secret, and raises ValueError for a malformed header, which
would be a 500 for ever. The tests sign with it.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from fulfilment.webhooks.errors import SignatureRefused

SKEW: Final = timedelta(minutes=5)  # both ways: a sender's clock may be fast, too
_PREFIX: Final = "whsec_"
_KEY_BYTES: Final = range(24, 64 + 1)  # of the specification; less can be guessed
# A signature has 47 characters and a rotation a few of them; more is not compared one by one.
_LONGEST: Final = 4096
_VISIBLE: Final = re.compile(rb"[\x20-\x7e]+")
_SECONDS: Final = re.compile(rb"[0-9]{1,11}")


def verify(
    headers: Mapping[str, str],
    body: bytes,
    *,
    secrets: Iterable[str],
    now: datetime,
    skew: timedelta = SKEW,
) -> None:
    """Return if the owner of one of `secrets` signed exactly these bytes within `skew` of `now`.

    Several secrets, and several signatures in the header, are what a rotation needs. Raises
    `SignatureRefused` for everything else, whatever the headers hold; without one usable secret
    that is everything.
    """
    message = _header(headers, "webhook-id")
    sent = _header(headers, "webhook-timestamp")
    offered = _header(headers, "webhook-signature")
    keys = [key for secret in secrets if (key := key_of(secret))]
    if not keys:
        raise SignatureRefused("No secret is configured, so nobody can be believed.")
    _require_recent(sent, now=now, skew=skew)
    signed = b"%b.%b.%b" % (message, sent, body)
    expected = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in keys]
    given = [token[3:] for token in offered.split(b" ") if token.startswith(b"v1,")]
    # All pairs are compared: how long it takes tells nothing about which secret nearly fitted.
    fits = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in given]
    if not any(fits):
        raise SignatureRefused("No signature in the header fits the body.")


def key_of(secret: str) -> bytes | None:
    """The key in a secret (`whsec_` and base64); None where it holds none that may be used."""
    encoded = secret.strip().removeprefix(_PREFIX) if isinstance(secret, str) else ""
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) in _KEY_BYTES else None


def _header(headers: Mapping[str, str], name: str) -> bytes:
    """The header as it was sent. None of the three ever holds anything but visible ASCII."""
    value = headers.get(name) or ""
    try:
        raw = value.encode("ascii")
    except UnicodeEncodeError:
        raw = b""
    if len(raw) > _LONGEST or not _VISIBLE.fullmatch(raw):
        raise SignatureRefused(f"The header {name} is missing, empty or odd.")
    return raw


def _require_recent(sent: bytes, *, now: datetime, skew: timedelta) -> None:
    if not _SECONDS.fullmatch(sent):
        raise SignatureRefused("The timestamp is not a number of seconds.")
    if abs(now.timestamp() - int(sent)) > skew.total_seconds():
        raise SignatureRefused(
            f"The timestamp is more than {skew.total_seconds():g} s away from our clock."
        )
