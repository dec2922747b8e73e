"""The condition of a partial index, as `pg_get_expr` writes it: every part in parentheses. Pure."""

import re
from collections.abc import Iterator

from idempotency.nulls.rules import Condition

_NAME = r'(?P<name>"(?:[^"]|"")+"|[a-z_][\w$]*)'
_IS_NULL = re.compile(rf"{_NAME} IS (?P<not>NOT )?NULL")
# Operators that answer NULL for NULL, so that a row with NULL is not in the index.
_STRICT = re.compile(rf"\(?{_NAME}\)?(?:::[\w ]+(?:\(\d+\))?)? (?:=|<>|<=|>=|<|>|~~\*?|~\*?) ")
_ALONE = re.compile(rf"(?:NOT )?{_NAME}")  # a boolean column


def read(predicate: str | None) -> Condition:
    """What the predicate asks for. What it cannot read stays text, and is never taken for a rule."""
    null: set[str] = set()
    not_null: set[str] = set()
    rest: set[str] = set()
    for term in _terms(predicate or ""):
        found = _IS_NULL.fullmatch(term)
        if found:
            (not_null if found["not"] else null).add(_plain(found["name"]))
            continue
        rest.add(term)
        strict = _STRICT.match(term) or _ALONE.fullmatch(term)
        if strict and parts(term, " OR ") == [term] and parts(term, " AND ") == [term]:
            not_null.add(_plain(strict["name"]))
    return Condition(frozenset(null), frozenset(not_null), frozenset(rest))


def _terms(predicate: str) -> Iterator[str]:
    """The parts that have to be true together."""
    bare = unwrapped(predicate)
    found = parts(bare, " AND ")
    if len(found) == 1:
        yield from [bare] if bare else []
    elif parts(bare, " OR ") != [bare]:
        yield bare
    else:
        for part in found:
            yield from _terms(part)


def unwrapped(text: str) -> str:
    """Without the parentheses around the whole of it."""
    text = text.strip()
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closing(text: str) -> int:
    return next((n for n, depth in _depths(text) if depth == 0), -1)


def parts(text: str, word: str) -> list[str]:
    """Split at a word that stands in no parentheses and in no quotes."""
    found, begin = [], 0
    outside = {n for n, depth in _depths(text) if depth == 0}
    for hit in re.finditer(re.escape(word), text):
        if hit.start() in outside:
            found.append(text[begin : hit.start()])
            begin = hit.end()
    return [*found, text[begin:]]


def _depths(text: str) -> Iterator[tuple[int, int]]:
    """Each character's place and how many parentheses are open behind it; none inside quotes."""
    depth, quote = 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
            continue
        if character in "'\"":
            quote = character
            continue
        depth += {"(": 1, ")": -1}.get(character, 0)
        yield place, depth


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
