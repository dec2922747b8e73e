"""Fields that take what they say and nothing that merely looks like it."""

import re
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ledgerline.bank.money import LARGEST


class WholeNumber(serializers.Field[int, int, int, Any]):
    """A JSON integer from `least` to `most`. No string, float, exponent or boolean."""

    default_error_messages = {
        "integer": "Must be a whole number, not text and no fraction.",
        "range": "Must be from {least} to {most}.",
    }

    def __init__(self, *, least: int, most: int, **kwargs: Any) -> None:
        self.least, self.most = least, most
        super().__init__(**kwargs)

    def to_internal_value(self, data: object) -> int:
        if type(data) is not int:  # a bool is an int to Python, and never a number of things
            self.fail("integer")
        if not self.least <= data <= self.most:
            self.fail("range", least=self.least, most=self.most)
        return data

    def to_representation(self, value: int) -> int:
        return value


@extend_schema_field({"type": "integer", "format": "int64", "minimum": 1, "maximum": LARGEST})
class MinorUnits(WholeNumber):
    """An amount of money: 1 to 9223372036854775807 minor units."""

    default_error_messages = {
        "integer": "Must be a whole number of minor units (kobo, cents), not text and no fraction.",
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(least=1, most=LARGEST, **kwargs)


class Text(serializers.CharField):
    """A JSON string as it is: never a number made into one, never trimmed.

    NUL and lone surrogates are refused by DRF's own validators: PostgreSQL stores neither.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class Pattern(Text):
    """A string that matches `pattern` as a whole."""

    default_error_messages = {"pattern": "Must be {what}."}

    def __init__(self, pattern: str, *, what: str, **kwargs: Any) -> None:
        self.pattern = pattern
        self._what = what
        super().__init__(**kwargs)

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if not re.fullmatch(self.pattern, text):
            self.fail("pattern", what=self._what)
        return text
