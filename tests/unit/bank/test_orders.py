"""An order is taken as it is or refused field by field; nothing is rounded, trimmed or guessed."""

from decimal import Decimal
from typing import Any

import pytest
from rest_framework.exceptions import ValidationError

from ledgerline.bank.api.orders import OrderFields
from ledgerline.bank.transfers import Order
from ledgerline.parsers import value_of

B0 = {"toAccount": "0123456789", "amount": 10000, "currency": "NGN", "narration": "INV-1001"}


def errors_of(body: Any) -> Any:
    with pytest.raises(ValidationError) as refusal:
        OrderFields(data=body).order()
    return refusal.value.detail


def test_an_order_is_read_as_it_is() -> None:
    said = B0 | {"toBank": "058", "fromAccount": "0123456780", "narration": " spaces kept "}
    assert OrderFields(data=said).order() == Order(
        to_account="0123456789",
        amount=10000,
        currency="NGN",
        to_bank="058",
        from_account="0123456780",
        narration=" spaces kept ",
    )


TEXTS = ["100", "", "NaN", "sNaN", "-Infinity", "1e400", "0x10", "1_000", "80.6", "80.99"]
TEXTS += ["\u0661\u0660\u0660"]  # 100 in Arabic-Indic digits
FRACTIONS = [80.6, 1.0, Decimal("80.9"), Decimal("1e2"), Decimal("1e400")]
OTHERS = [True, False, None, [], {}]
OUT_OF_RANGE = [0, -1, 2**63, int("9" * 400)]


@pytest.mark.parametrize(
    "amount", [*TEXTS, *FRACTIONS, *OTHERS, *OUT_OF_RANGE], ids=lambda amount: ascii(amount)[:20]
)
def test_an_amount_is_a_json_integer_in_range(amount: object) -> None:
    assert list(errors_of(B0 | {"amount": amount})) == ["amount"]


@pytest.mark.parametrize(
    "number", [b"1.0", b"1e2", b"0.07", b"1.005", b"33.33", b"1e400", b"1E0", b"-1", b"0"]
)
def test_a_number_with_point_or_exponent_is_no_amount_as_it_comes_off_the_wire(
    number: bytes,
) -> None:
    body = value_of(b'{"toAccount":"0123456789","currency":"NGN","amount":' + number + b"}")
    assert list(errors_of(body)) == ["amount"]


@pytest.mark.parametrize("amount", [1, 2147483648, 2**63 - 1])
def test_an_amount_may_be_as_large_as_its_column(amount: int) -> None:
    assert OrderFields(data=B0 | {"amount": amount}).order().amount == amount


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("toAccount", 123456789),
        ("toAccount", "012345678"),
        ("toAccount", "01234567890"),
        ("toAccount", "0123456789\n"),
        ("toAccount", " 123456789"),
        ("toAccount", "٠١٢٣٤٥٦٧٨٩"),
        ("toAccount", "012345678\u0000"),
        ("toAccount", None),
        ("fromAccount", "12345"),
        ("fromAccount", None),
        ("toBank", "05"),
        ("toBank", "05-8"),
        ("toBank", ""),
        ("toBank", 58),
        ("currency", "ngn"),
        ("currency", "NGNN"),
        ("currency", ""),
        ("narration", "INV\u0000-1"),
        ("narration", "half \ud83d of a pair"),
        ("narration", "x" * 141),
        ("narration", 5),
        ("narration", None),
    ],
)
def test_a_field_that_does_not_fit_is_named(field: str, value: object) -> None:
    assert list(errors_of(B0 | {field: value})) == [field]


@pytest.mark.parametrize("account", ["1234", "GB33BUKB20201555555555", "x" * 34])
def test_another_bank_has_its_own_account_numbers(account: str) -> None:
    assert OrderFields(data=B0 | {"toBank": "058", "toAccount": account}).order()


@pytest.mark.parametrize("account", ["123", "x" * 35, "GB33 BUKB", "GB33-BUKB"])
def test_an_account_of_another_bank_has_4_to_34_letters_and_digits(account: str) -> None:
    assert list(errors_of(B0 | {"toBank": "058", "toAccount": account})) == ["toAccount"]


def test_140_characters_of_narration_are_taken_whatever_they_are() -> None:
    assert OrderFields(data=B0 | {"narration": "😀" * 140}).order().narration == "😀" * 140


def test_a_narration_of_spaces_stays_what_it_is() -> None:
    assert OrderFields(data=B0 | {"narration": "   "}).order().narration == "   "


def test_an_unknown_field_is_refused_by_name_with_the_known_ones() -> None:
    errors = errors_of(B0 | {"toaccount": "0123456789"})
    assert list(errors) == ["toaccount"]
    assert "toAccount, amount, currency, toBank, fromAccount, narration" in errors["toaccount"][0]


def test_a_name_that_no_answer_could_hold_is_still_refused_by_name() -> None:
    assert list(errors_of(B0 | {"\ud83d": 1})) == ["\\ud83d"]


@pytest.mark.parametrize("body", [[], "text", 5, None, [B0]])
def test_a_body_that_is_no_object_is_refused(body: object) -> None:
    assert errors_of(body)


def test_every_missing_field_is_named_at_once() -> None:
    assert sorted(errors_of({})) == ["amount", "currency", "toAccount"]
