"""What people may see of an answer: numbers by their ends, secrets not at all, the rest as it is."""

import json

import pytest

from idempotency.redaction import mask, mask_text


def shown(body: object, content_type: str = "application/json") -> str:
    given = body if isinstance(body, bytes) else json.dumps(body).encode()
    return mask("op", given, content_type).decode()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("0123456789", "******6789"),
        ("12345678", "****5678"),
        ("1234567", "1234567"),
        ("to 0123456789, please", "to ******6789, please"),
        ("acct-0123456789x", "acct-******6789x"),
        ("DE00TEST000000000001", "****************0001"),
        ("GB29 NWBK 6016 1331 9268 19", "***********************8 19"),
        ("4111 1111 1111 1111", "***************1111"),
        ("4111-1111-1111-1111", "***************1111"),
        ("2026-11-30T20:31:19.123456Z", "2026-11-30T20:31:19.123456Z"),
        ("2026-11-30 20:31", "2026-11-30 20:31"),
        ("12345678-1234-1234-1234-123456789012", "12345678-1234-1234-1234-123456789012"),
        ("a1b2c3d4e5f60718293a4b5c6d7e8f90", "a1b2c3d4e5f60718293a4b5c6d7e8f90"),
        ("12345678901234567890123456789012", "****************************9012"),
        ("INV-1001", "INV-1001"),
        ("token=abc&x=1", "token=***&x=1"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
    ],
)
def test_numbers_keep_their_end_and_names_stay(text: str, seen: str) -> None:
    assert mask_text(text) == seen


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "access_token",
        "refreshToken",
        "clientSecret",
        "PASSWORD",
        "pan",
        "cardPan",
        "cvv",
        "Authorization",
        "api_key",
        "apiKey",
        "otp",
    ],
)
@pytest.mark.parametrize(
    "value", ["s3cr3t-v4lue", 4711, {"deep": "s3cr3t-v4lue"}, ["s3cr3t-v4lue"]]
)
def test_a_member_named_like_a_secret_is_not_shown(name: str, value: object) -> None:
    seen = shown({"data": [{name: value, "state": "open"}]})
    assert "s3cr3t" not in seen, f"{name} is shown: {seen}"
    assert "4711" not in seen, f"{name} is shown: {seen}"
    assert json.loads(seen) == {"data": [{name: "***", "state": "open"}]}


def test_a_word_that_only_contains_a_secrets_name_is_shown() -> None:
    assert json.loads(shown({"company": "A", "shipping": "B", "note": "c"})) == {
        "company": "A",
        "shipping": "B",
        "note": "c",
    }


def test_numbers_are_shown_as_they_were_written() -> None:
    seen = shown(b'{"a":0.10,"b":1e3,"c":123,"d":9876543210,"c":true,"e":null,"f":[],"g":{}}')
    assert '"a": 0.10' in seen
    assert '"b": 1e3' in seen
    assert '"d": "******3210"' in seen, "an account number was sent as a number and is shown"
    assert seen.count('"c": ') == 2, "a repeated name is left out"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[" * 100_000,
        b'{"n": 1' + b"1" * 5000 + b"}",
        b'"\\ud800 0123456789"',
        b"\x00\xff",
        b"",
    ],
)
def test_no_body_is_too_odd_to_be_shown(body: bytes) -> None:
    seen = mask("op", body, "application/json")
    assert b"0123456789" not in seen


@pytest.mark.timeout(30)
@pytest.mark.parametrize("word", ["a", "token", "1234 ", "AB12", "token=", "1"])
def test_a_body_as_large_as_any_is_shown_at_once(word: str) -> None:
    """Repetition inside repetition would take hours for one of these."""
    mask("op", word.encode() * (256 * 1024 // len(word)), "text/plain")


def test_text_that_is_no_json_is_masked_too() -> None:
    assert shown(b"account=0123456789&cvv=123", "text/plain") == "account=******6789&cvv=***"
