"""Which request was this? SHA-256 over version, method, path, raw query and body. Pure: no I/O.

JSON is compared as a value: order of members, white space and escapes do not matter, while numbers
count as they were written (0.1 is not 0.10), because no amount may pass through a float.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from idempotency import strictjson
from idempotency.errors import BodyInvalid, VersionUnknown

VERSION = 1  # of new fingerprints; what is on record is compared in the version that it names


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart body; a boundary is not part of the request's meaning."""

    name: str
    content: bytes
    filename: str | None = None
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """All of a request that a fingerprint may cover. `body` is raw, or the parts of a multipart one."""

    method: str
    path: str
    query: str
    content_type: str
    body: bytes | Sequence[Part]


def of_request(request: Request, *, version: int | None = None) -> str:
    """The request's fingerprint, at most 64 characters of ASCII.

    Raises BodyInvalid for JSON that has no value, and VersionUnknown for the version of a later
    release.
    """
    make = VERSIONS.get(version or VERSION)
    if make is None:
        raise VersionUnknown
    return make(request)


def version_of(fingerprint: str) -> int:
    """The version that a fingerprint names: 1 if it is all digits, else the number before a colon."""
    number, colon, _ = fingerprint.partition(":")
    return int(number) if colon else 1


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


def _first(request: Request) -> str:
    head = ["ledgerline/fingerprint/v1", request.method, request.path, request.query]
    pieces = [text.encode("utf-8", "surrogatepass") for text in head]
    return _digest([*pieces, *_body(request.body, request.content_type)]).hex()


# A later version is one function more, and then VERSION. Its text starts with "<version>:" and has
# 64 characters in all, for it is kept in columns of that width. None may go before the last key that
# it made: rows are kept for RETENTION, and what a project keeps by reference for ever.
VERSIONS: dict[int, Callable[[Request], str]] = {1: _first}


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
