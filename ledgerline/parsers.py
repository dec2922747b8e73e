"""JSON as the API takes it: UTF-8 only, one meaning only, each refusal a sentence.

What is JSON at all is decided by `idempotency.strictjson`, for the fingerprint and for the handler.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any

from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

from idempotency import strictjson

# Far above any number with a meaning here; Python's own limit (4,300 digits) would be a 500.
MAX_DIGITS = 400


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
        kind, *parameters = (media_type or self.media_type).split(";")
        if (
            kind.strip().lower() != self.media_type
        ):  # DRF lets wildcards through: */*, application/*
            raise UnsupportedMediaType(media_type or "")
        _refuse_other_charsets(parameters, media_type or "")
        return value_of(stream.read())


def value_of(body: bytes) -> Any:
    """The value that a JSON body states, or `ParseError` with what is wrong."""
    try:
        return _read(body)
    except strictjson.Unclear as unclear:
        raise ParseError(str(unclear)) from None


def _refuse_other_charsets(parameters: list[str], media_type: str) -> None:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if name.strip().lower() == "charset" and charset not in {"utf-8", "utf8"}:
            raise UnsupportedMediaType(
                media_type, "JSON is read as UTF-8 only; send it so and leave the charset out."
            )


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ParseError(f"A number has more than {MAX_DIGITS} digits.")
    return int(digits)


def _decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except ArithmeticError:
        raise ParseError("A number has an exponent that is out of range.") from None


_read = strictjson.reader(integer=_integer, fraction=_decimal)
