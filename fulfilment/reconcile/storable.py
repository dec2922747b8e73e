"""What a provider says, in values that the database takes, and never in one that means more. Pure.

An answer that cannot be stored would be lost at every look-up, and its payment would never reach a
person. What was cut or could not be read must not agree with what we know, either.
"""

from typing import Final

_MOST: Final = 2**63 - 1  # of a bigint


def text(value: object, *, most: int) -> str:
    """At most so many characters; what PostgreSQL takes in no text (NUL, half of a pair) as `�`."""
    return "".join("\ufffd" if _is_refused(c) else c for c in str(value)[:most])


def amount(value: object) -> int | None:
    """Minor units; None for what is no whole number or beyond any amount: it is not ours, then."""
    return value if type(value) is int and -_MOST <= value <= _MOST else None


def currency(value: object) -> str:
    """The code whole; empty for what is none: its first three letters may be another's name."""
    code = text(value, most=4)
    return code if len(code) <= 3 else ""


def _is_refused(character: str) -> bool:
    return character == "\0" or "\ud800" <= character <= "\udfff"
