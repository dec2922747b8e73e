"""What is sent: one order, and the variations of it that the contract has a word about. Pure."""

import json
from dataclasses import dataclass, replace
from typing import Any

from idempotency.audit.messages import Request

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """The request that the auditor was given, which is valid and does something."""

    method: str
    headers: Headers
    body: bytes
    key_header: str = "Idempotency-Key"
    marker: str = "Idempotent-Replayed"
    other_body: bytes | None = None  # None: one made from `body`
    bad_body: bytes | None = None
    other_user: Headers | None = None  # the headers that say who somebody else is

    def keyed(self, *keys: bytes) -> Request:
        """The order under one key, or with several headers that each name one."""
        named = tuple((self.key_header, key) for key in keys)
        return Request(self.method, self.headers + named, self.body)

    def different(self, key: bytes) -> Request:
        """Another order under the same key."""
        body = self.other_body if self.other_body is not None else altered(self.body)
        return replace(self.keyed(key), body=body)

    def reordered(self, key: bytes) -> Request | None:
        """The same JSON object in other bytes; None if the body is none, or shorter than two members."""
        body = in_other_order(self.body)
        return None if body is None else replace(self.keyed(key), body=body)

    def refused(self, key: bytes) -> Request | None:
        """The order that the endpoint refuses, if the auditor gave one."""
        return None if self.bad_body is None else replace(self.keyed(key), body=self.bad_body)

    def by_somebody_else(self, key: bytes) -> Request | None:
        """The order with the other user's headers in place of those of the same name."""
        if self.other_user is None:
            return None
        theirs = {name.lower() for name, _ in self.other_user}
        kept = tuple(pair for pair in self.headers if pair[0].lower() not in theirs)
        return Request(self.method, (*kept, *self.other_user, (self.key_header, key)), self.body)

    def looked_at(self, key: bytes) -> Request:
        """A safe request that carries the key by mistake."""
        content = {"content-type", "content-length"}
        kept = tuple(pair for pair in self.headers if pair[0].lower() not in content)
        return Request("GET", (*kept, (self.key_header, key)))


def altered(body: bytes) -> bytes:
    """Another order: in a JSON object the first whole number plus one, else one more byte or member.

    The number keeps the order valid for most endpoints, so that one that does not compare bodies
    shows what it does with it.
    """
    value = _object(body)
    if value is None:
        return body + b" x"
    if not _increase(value):
        value["idempotency_audit"] = 1
    return json.dumps(value).encode()


def in_other_order(body: bytes) -> bytes | None:
    """The same JSON value: the members the other way round, and other white space."""
    value = _object(body)
    if value is None or len(value) < 2:
        return None
    turned = dict(reversed(value.items()))
    return json.dumps(turned, indent=1).encode()


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _increase(value: dict[str, Any]) -> bool:
    for name, inner in value.items():
        if isinstance(inner, int) and not isinstance(inner, bool):
            value[name] = inner + 1
            return True
        if isinstance(inner, dict) and _increase(inner):
            return True
    return False
