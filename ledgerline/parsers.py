"""JSON as the API takes it: UTF-8 only, one meaning only.

What two parsers could read differently (duplicate names, NaN, a byte order mark) is refused here,
before anything is done, each with a sentence that says what is wrong.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any, NoReturn

from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

MAX_DEPTH = 64
# Far above any number with a meaning here; Python's own limit (4,300 digits) would be a 500.
MAX_DIGITS = 400
_BOM = b"\xef\xbb\xbf"


class StrictJSONParser(BaseParser):
    """DRF parser for `application/json`. Raises `ParseError` (400) or `UnsupportedMediaType` (415)."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The body's value; numbers with a fraction or exponent as `Decimal`."""
        _refuse_other_charsets(media_type or self.media_type)
        return value_of(stream.read())


def value_of(body: bytes) -> Any:
    """The value that a JSON body states, or `ParseError` with what is wrong."""
    if body.startswith(_BOM):
        raise ParseError("The body starts with a byte order mark; send plain UTF-8 without it.")
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_decimal,
        )
    except UnicodeDecodeError:
        raise ParseError("The body is not UTF-8.") from None
    except RecursionError:
        raise ParseError(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ParseError(f"The body is not JSON: {error.msg} at {where}.") from None
    _refuse_depth(value)
    return value


_TOO_DEEP = f"The body nests deeper than {MAX_DEPTH} levels."


def _refuse_other_charsets(media_type: str) -> None:
    for parameter in media_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if name.strip().lower() == "charset" and charset not in {"utf-8", "utf8"}:
            raise UnsupportedMediaType(
                media_type, "JSON is read as UTF-8 only; send it so and leave the charset out."
            )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ParseError("An object names the same field twice.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ParseError(f"{name} is not a JSON number.")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ParseError(f"A number has more than {MAX_DIGITS} digits.")
    return int(digits)


def _decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except ArithmeticError:
        raise ParseError("A number has an exponent that is out of range.") from None


def _refuse_depth(value: Any) -> None:
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ParseError(_TOO_DEEP)
        level = [item for outer in level for item in _items(outer)]


def _items(outer: dict[str, Any] | list[Any]) -> list[Any]:
    return list(outer.values()) if isinstance(outer, dict) else outer
