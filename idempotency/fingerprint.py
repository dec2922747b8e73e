"""Which request was this? SHA-256 over version, method, path, raw query and body. Pure: no I/O.

JSON is compared as a value: order of members, white space and escapes do not matter, while numbers
count as they were written (0.1 is not 0.10), because no amount may pass through a float.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from idempotency import strictjson
from idempotency.errors import BodyInvalid

VERSION = 1


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart body; a boundary is not part of the request's meaning."""

    name: str
    content: bytes
    filename: str | None = None
    content_type: str = ""


def of_request(
    *, method: str, path: str, query: str, content_type: str, body: bytes | Sequence[Part]
) -> str:
    """The request's fingerprint, 64 hex characters. Raises BodyInvalid for JSON that has no value."""
    head = [f"ledgerline/fingerprint/v{VERSION}", method, path, query]
    pieces = [text.encode("utf-8", "surrogatepass") for text in head]
    return _digest([*pieces, *_body(body, content_type)]).hex()


def is_json(content_type: str) -> bool:
    """True for application/json and every `+json` type (RFC 6839), whatever the parameters."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def canonical(body: bytes) -> str:
    """JSON text that is equal for equal values only. Raises BodyInvalid."""
    try:
        value = _read(body)
    except strictjson.Unclear as unclear:
        raise BodyInvalid(str(unclear)) from unclear
    return "".join(_written(value))


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def _body(body: bytes | Sequence[Part], content_type: str) -> Iterator[bytes]:
    if not isinstance(body, bytes):
        yield b"multipart"
        yield from (_part(part) for part in sorted(body, key=lambda part: part.name))
    elif body and is_json(content_type):
        yield from (b"json", canonical(body).encode("ascii"))
    else:
        yield from (b"bytes", body)


def _part(part: Part) -> bytes:
    marks = (
        part.name,
        "field" if part.filename is None else f"file {part.filename}",
        part.content_type,
    )
    return _digest([*(mark.encode("utf-8", "surrogatepass") for mark in marks), part.content])


def _digest(pieces: Iterable[bytes]) -> bytes:
    total = hashlib.sha256()
    for piece in pieces:  # each with its length, so that no two lists of pieces look alike
        total.update(len(piece).to_bytes(8, "big") + piece)
    return total.digest()


def _written(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for name in sorted(value):
            yield f"{json.dumps(name)}:"
            yield from _written(value[name])
            yield ","
        yield "}"
    elif isinstance(value, list):
        yield "["
        for item in value:
            yield from _written(item)
            yield ","
        yield "]"
    else:
        yield str(value) if isinstance(value, _Number) else json.dumps(value)


_read = strictjson.reader(integer=_Number, fraction=_Number)
