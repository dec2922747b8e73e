"""The Idempotency-Key header: what it names. Pure: no Django, no I/O.

Syntax: RFC 9651 (structured fields) for the quoted form, opaque visible ASCII for the bare one;
draft-ietf-httpapi-idempotency-key-header changed from the second to the first.
"""

import hashlib
import re
from uuid import UUID, uuid5

from idempotency.errors import KeyInvalid, KeyMissing

MAX_LENGTH = 255  # longer random keys do not fit an index row of PostgreSQL once quoted and joined

_VISIBLE = re.compile(r"[!-~]+", re.ASCII)
_STRING = r'"(?:[ !#-\[\]-~]|\\["\\])*"'
_ITEM = rf"(?:{_STRING}|[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*|[-0-9.]+|:[A-Za-z0-9+/=]*:|\?[01]|@-?\d+)"
_PARAMETERS = rf"(?: *; *[a-z*][a-z0-9_\-.*]*(?:={_ITEM})?)*"
_QUOTED = re.compile(rf"({_STRING}){_PARAMETERS}", re.ASCII)

# Scopes that are no UUID become one in this namespace; changing it would orphan every stored key.
_SCOPES = UUID("5d1f2a7e-0c43-4b0e-9a55-0b6f4e1f7c31")


def parse(header: str | None) -> str:
    """The key that the header's value names; both forms of one key give the same text.

    Raises KeyMissing without a header and KeyInvalid for everything that is not exactly one key of
    1 to 255 visible ASCII characters without a comma.
    """
    if header is None:
        raise KeyMissing
    value = header.strip(" \t")  # optional white space around a value is not part of it (RFC 9110)
    if not value:
        raise KeyInvalid("The Idempotency-Key header is blank.")
    if "," in value:  # servers join repeated headers with a comma
        raise KeyInvalid("The Idempotency-Key header was sent twice or contains a comma.")
    return _checked(_unquoted(value) if value.startswith('"') else value)


def reference_of(scope: UUID, key: str) -> str:
    """The stable public name of what (scope, key) asked for: 32 hex characters.

    Published formula: the first 32 hex characters of
    SHA-256("ledgerline/reference/v1\\n" + the scope's 16 bytes + the key in ASCII).
    """
    return _digest(b"ledgerline/reference/v1\n", scope, key).hex()[:32]


def lock_of(scope: UUID, key: str) -> int:
    """The number of the advisory lock that one first request of (scope, key) holds: signed 64 bit.

    Two keys that share a number only make each other wait for a retry; the primary key decides.
    """
    return int.from_bytes(_digest(b"ledgerline/claim/v1\n", scope, key)[:8], "big", signed=True)


def scope_of(identity: object) -> UUID:
    """A principal's scope: its UUID, or one derived from whatever else identifies it."""
    return identity if isinstance(identity, UUID) else uuid5(_SCOPES, str(identity))


def _unquoted(value: str) -> str:
    found = _QUOTED.fullmatch(value)
    if found is None:
        raise KeyInvalid("The Idempotency-Key header is not a complete quoted string (RFC 9651).")
    return re.sub(r"\\(.)", r"\1", found[1][1:-1])


def _checked(key: str) -> str:
    if not key:
        raise KeyInvalid("The Idempotency-Key header is blank.")
    if len(key) > MAX_LENGTH:
        raise KeyInvalid(f"The Idempotency-Key is longer than {MAX_LENGTH} characters.")
    if not _VISIBLE.fullmatch(key):
        raise KeyInvalid("The Idempotency-Key may hold visible ASCII characters only.")
    return key


def _digest(label: bytes, scope: UUID, key: str) -> bytes:
    return hashlib.sha256(label + scope.bytes + key.encode("ascii")).digest()
