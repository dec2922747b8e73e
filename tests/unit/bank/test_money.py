"""Minor units with their currency's exponent; numbers that nobody should read in full."""

import pytest

from ledgerline.bank.money import EXPONENTS, masked, written


@pytest.mark.parametrize(
    ("currency", "exponent"), [("NGN", 2), ("EUR", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4)]
)
def test_a_currency_has_its_iso_4217_exponent(currency: str, exponent: int) -> None:
    assert EXPONENTS[currency] == exponent


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (1, "NGN", "NGN 0.01"),
        (123_456, "NGN", "NGN 1,234.56"),
        (-5, "EUR", "-EUR 0.05"),
        (1_000, "JPY", "JPY 1,000"),
        (0, "JPY", "JPY 0"),
        (1, "KWD", "KWD 0.001"),
        (2**63 - 1, "NGN", "NGN 92,233,720,368,547,758.07"),
    ],
)
def test_minor_units_are_written_exactly(amount: int, currency: str, text: str) -> None:
    assert written(amount, currency) == text


@pytest.mark.parametrize(
    ("account", "shown"),
    [("0123456789", "******6789"), ("GB33BUKB20201555555555", "*" * 18 + "5555"), ("1234", "**34")],
)
def test_an_account_shows_its_last_characters_only(account: str, shown: str) -> None:
    assert masked(account) == shown
