"""What people may see of an answer: account numbers by their ends, and no secrets. Pure.

A stored answer is replayed byte for byte, so this is not for what is stored: it is for pages. Set
IDEMPOTENCY["REDACT"] to a function `(operation, body, content_type) -> bytes` of your own where
your answers hold more than this one knows.
"""

import json
import re
from typing import Any

# What looks like a name and not like a number, and stays: a UUID, 32 hex digits. Then what is
# shown by its end only: an IBAN, four-digit groups as on a card, eight or more digits in a row.
_KNOWN = re.compile(
    r"(?P<name>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[0-9]*[a-f])[0-9a-f]{32}\b)"
    r"|\b[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}\b"
    r"|\b[A-Z]{2}[0-9]{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?\b"
    r"|[0-9]{4}(?:[ -][0-9]{4}){2,7}(?:[ -]?[0-9]{1,3})?(?![0-9])"
    r"|[0-9]{8,}"
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SECRET_WORDS = frozenset({"pan", "cvv", "cvc", "pin", "otp"})
_SECRET_PARTS = ("token", "secret", "password", "passwd", "authorization", "apikey")
# Every repetition is bounded: a body of a million letters must not take minutes.
_NAMED = re.compile(
    r"(?i)((?:token|secret|password|passwd|authorization|api[_-]?key|cvv|cvc)[\w-]{0,40}"
    r"[\"']?\s{0,9}[=:]\s{0,9})(?:(?:bearer|basic)\s{1,9})?[\"']?[^\s\"'&;,<>]+"
)
_HIDDEN = "***"


class _Written(str):
    """A number, with the digits that it was written with."""

    __slots__ = ()


class _Members(list[tuple[str, Any]]):
    """An object's members in their order, repeated names included."""


def mask(operation: str, body: bytes, content_type: str) -> bytes:
    """The default of IDEMPOTENCY["REDACT"].

    Runs of eight and more digits, card numbers and IBANs keep their last four characters; members
    named like secrets (token, secret, password, pan, cvv, authorization, …) keep nothing. JSON is
    laid out to be read; bytes that are no text come back as they are, to be shown as a dump.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    if "json" in content_type.lower():
        try:
            return _lines(_parsed(text)).encode("utf-8", "backslashreplace")
        except (ValueError, RecursionError):
            pass  # said to be JSON and is none: as text
    return mask_text(text).encode()


def mask_text(text: str) -> str:
    """Text with numbers by their last four characters, and without `secret=…` values."""
    named = _NAMED.sub(lambda found: found[1] + _HIDDEN, text)
    return _KNOWN.sub(lambda found: found[0] if found["name"] else _end_of(found[0]), named)


def _parsed(text: str) -> Any:
    return json.loads(text, parse_int=_Written, parse_float=_Written, object_pairs_hook=_Members)


def _lines(value: Any, indent: str = "") -> str:
    deeper = indent + "  "
    match value:
        case _Members() if value:
            members = [
                f"{_text(name)}: {_lines(_HIDDEN if _is_secret(name) else member, deeper)}"
                for name, member in value
            ]
            return _block("{", members, "}", indent)
        case _Members():
            return "{}"
        case list() if value:
            return _block("[", [_lines(item, deeper) for item in value], "]", indent)
        case _Written():
            hidden = mask_text(value)
            return str(value) if hidden == value else _text(hidden)
        case str():
            return _text(mask_text(value))
        case _:
            return json.dumps(value)


def _block(opening: str, lines: list[str], closing: str, indent: str) -> str:
    inner = ",\n".join(f"{indent}  {line}" for line in lines)
    return f"{opening}\n{inner}\n{indent}{closing}"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    joined = "".join(words)
    return any(part in joined for part in _SECRET_PARTS) or not _SECRET_WORDS.isdisjoint(words)


def _end_of(number: str) -> str:
    return "*" * (len(number) - 4) + number[-4:]
