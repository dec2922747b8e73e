"""Bodies that two readers could read differently are refused before anything is done."""

from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from rest_framework.exceptions import ParseError, UnsupportedMediaType

from idempotency.errors import BodyInvalid
from idempotency.fingerprint import canonical
from ledgerline.parsers import StrictJSONParser


def read(body: bytes, media_type: str = "application/json") -> Any:
    return StrictJSONParser().parse(BytesIO(body), media_type)


def test_numbers_are_read_as_written_and_never_as_floats() -> None:
    value = read(b'{"amount": 9223372036854775808, "rate": 0.10, "big": 1e400}')
    assert value == {
        "amount": 9223372036854775808,
        "rate": Decimal("0.10"),
        "big": Decimal("1e400"),
    }
    assert str(value["rate"]) == "0.10"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        pytest.param(b'\xef\xbb\xbf{"a":1}', "byte order mark", id="byte order mark"),
        pytest.param(b'{"a":\xff}', "not UTF-8", id="lone byte"),
        pytest.param(b'{"a":"\xe9"}', "not UTF-8", id="latin-1"),
        pytest.param('{"a":1}'.encode("utf-16"), "not UTF-8", id="utf-16"),
        pytest.param(b'{"a":NaN}', "NaN is not a JSON number", id="NaN"),
        pytest.param(b'{"a":-Infinity}', "-Infinity is not a JSON number", id="Infinity"),
        pytest.param(b'{"a":1,"a":2}', "same field twice", id="duplicate"),
        pytest.param(b'{"a":1,"\\u0061":2}', "same field twice", id="duplicate, escaped"),
        pytest.param(b'{"a":[{"b":1,"b":1}]}', "same field twice", id="duplicate inside"),
        pytest.param(b"[" * 65 + b"]" * 65, "deeper than 64", id="65 levels"),
        pytest.param(b"[" * 100_000, "deeper than 64", id="100,000 levels"),
        pytest.param(b'{"a":' * 100_000, "deeper than 64", id="100,000 objects"),
        pytest.param(b'{"a":' + b"9" * 401 + b"}", "more than 400 digits", id="401 digits"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", "more than 400 digits", id="5,000 digits"),
        pytest.param(b'{"a":1e' + b"9" * 30 + b"}", "exponent", id="exponent out of range"),
        pytest.param(b"", "not JSON", id="empty"),
        pytest.param(b'{"a":1} x', "line 1, column 9", id="something behind"),
        pytest.param(b"{'a':1}", "not JSON", id="single quotes"),
    ],
)
def test_a_body_without_one_clear_meaning_is_refused_with_a_sentence(
    body: bytes, sentence: str
) -> None:
    with pytest.raises(ParseError) as refusal:
        read(body)
    assert sentence in str(refusal.value.detail)
    if "digits" not in sentence and "exponent" not in sentence:  # these limits are the API's own
        with pytest.raises(BodyInvalid) as first:
            canonical(body)
        assert str(first.value) == str(refusal.value.detail), "the same fault in two wordings"


def test_sixty_four_levels_are_read() -> None:
    assert read(b"[" * 64 + b"]" * 64)


@pytest.mark.parametrize("charset", ["utf-16", "latin-1", "bogus", '"iso-8859-1"'])
def test_another_charset_is_an_unsupported_media_type(charset: str) -> None:
    with pytest.raises(UnsupportedMediaType):
        read(b'{"a":1}', f"application/json; charset={charset}")


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"'])
def test_utf_8_may_be_named(charset: str) -> None:
    assert read(b'{"a":1}', f"application/json; charset={charset}") == {"a": 1}


@pytest.mark.parametrize(
    "kind", ["*/*", "application/*", "application/x+json", "*/json; charset=utf-8"]
)
def test_only_json_by_its_name_is_json(kind: str) -> None:
    with pytest.raises(UnsupportedMediaType):
        read(b"{}", kind)


def test_the_name_is_read_in_any_case() -> None:
    assert read(b"{}", "Application/JSON ; charset=utf-8") == {}
