"""What may be printed of an exchange: no credentials, no whole account number. Pure."""

import re
from collections.abc import Iterable

# Shown as they are; every other header of a request may be a credential under any name.
_PLAIN = frozenset({"content-type", "accept", "accept-language", "prefer", "user-agent"})
_SHOWN = ("Content-Type", "Location", "Retry-After")
_MOST = 160  # characters of a body: enough to recognise it
_READ = 4096  # bytes: more than is printed, so that no secret is cut before it is masked
_SHORTEST_SECRET = 6  # characters: "ada" as a password would blacken half of every text

_DIGITS = re.compile(r"\d{5,}(?=\d{4})")
_SECRET_MEMBER = re.compile(
    r'("[^"]*(?:token|secret|password|pin|cvv|authorization)[^"]*"\s*:\s*)"[^"]*"', re.IGNORECASE
)


def request_headers(headers: Iterable[tuple[str, bytes]], *, key_header: str) -> list[str]:
    """One line each: the key shortened, all that may be a credential masked."""
    return [f"{name}: {_request_value(name, value, key_header)}" for name, value in headers]


def answer_headers(headers: Iterable[tuple[str, str]], *, marker: str) -> list[str]:
    """The headers that the contract is about, and the names of cookies."""
    wanted = {name.lower() for name in (*_SHOWN, marker)}
    lines = []
    for name, value in headers:
        if name.lower() == "set-cookie":
            lines.append(f"{name}: {value.partition('=')[0]}=****")
        elif name.lower() in wanted:
            lines.append(f"{name}: {_DIGITS.sub('****', value)}")
    return lines


def text(body: bytes, *, secrets: Iterable[str]) -> str:
    """The beginning of a body, without secrets, long numbers and control characters."""
    shown = body[:_READ].decode("utf-8", "replace")
    for secret in secrets:
        shown = shown.replace(secret, "****")
    shown = _SECRET_MEMBER.sub(r'\1"****"', _DIGITS.sub("****", shown))
    shown = "".join(character if character.isprintable() else "·" for character in shown)
    return shown if len(shown) <= _MOST else f"{shown[:_MOST]}… ({len(body)} bytes)"


def secrets_of(headers: Iterable[tuple[str, bytes]]) -> list[str]:
    """The values that must not be printed anywhere, and their last words (`Bearer …`)."""
    values = [value.decode("latin-1") for name, value in headers if name.lower() not in _PLAIN]
    words = [piece for value in values for piece in (value, value.split(" ")[-1])]
    return sorted({word for word in words if len(word) >= _SHORTEST_SECRET}, key=len, reverse=True)


def _request_value(name: str, value: bytes, key_header: str) -> str:
    shown = value.decode("utf-8", "backslashreplace")
    if name.lower() == key_header.lower():
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)
        return shown if len(shown) <= 50 else f"{shown[:12]}… ({len(value)} bytes)"
    return shown if name.lower() in _PLAIN else "****"
