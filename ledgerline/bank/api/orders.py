"""The bodies of POST /v1/transfers and /v1/payments, read strictly."""

from collections.abc import Mapping
from typing import Any, TypeVar

from rest_framework import serializers

from ledgerline.bank.api.fields import MinorUnits, Pattern, Text
from ledgerline.bank.payments import Order as PaymentOrder
from ledgerline.bank.transfers import Order

OWN_NUMBER = r"[0-9]{10}"
_OTHER_NUMBER = r"[A-Za-z0-9]{4,34}"  # 34: the longest IBAN
_CURRENCY = r"[A-Z]{3}"
_PHONE = r"\+?[0-9]{6,15}"  # 15: the longest number of E.164
_MOST_NAMED = 10  # unknown fields named in one answer

T = TypeVar("T")


class StrictFields(serializers.Serializer[T]):
    """Takes the fields that it names. An unknown one is refused: a misspelt one is not ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            _refuse_unknown(data, known=self.fields)
        return super().to_internal_value(data)


class OrderFields(StrictFields[Order]):
    """What a transfer may say."""

    toAccount = Pattern(_OTHER_NUMBER, what="4 to 34 letters and digits")  # noqa: N815  # the API's names
    amount = MinorUnits()
    currency = Pattern(_CURRENCY, what="a currency of three capital letters, such as NGN")
    toBank = Pattern(  # noqa: N815
        r"[A-Za-z0-9]{3,11}", what="a bank code of 3 to 11 letters and digits", required=False
    )
    fromAccount = Pattern(OWN_NUMBER, what="an account number of 10 digits", required=False)  # noqa: N815
    narration = Text(max_length=140, allow_blank=True, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        number = attrs["toAccount"]
        if "toBank" not in attrs and not (len(number) == 10 and number.isdecimal()):
            raise serializers.ValidationError(
                {"toAccount": "Must be 10 digits, or name the other bank in toBank."}
            )
        return attrs

    def order(self) -> Order:
        """The order that the body states. Raises `ValidationError` with one message per field."""
        self.is_valid(raise_exception=True)
        said = self.validated_data
        return Order(
            to_account=said["toAccount"],
            amount=said["amount"],
            currency=said["currency"],
            to_bank=said.get("toBank", ""),
            from_account=said.get("fromAccount"),
            narration=said.get("narration", ""),
        )


class PaymentFields(StrictFields[PaymentOrder]):
    """What a payment may say."""

    amount = MinorUnits()
    currency = Pattern(_CURRENCY, what="a currency of three capital letters, such as NGN")
    phone = Pattern(_PHONE, what="a telephone number of 6 to 15 digits, with or without a plus")
    narration = Text(max_length=140, allow_blank=True, required=False)

    def order(self) -> PaymentOrder:
        """The order that the body states. Raises `ValidationError` with one message per field."""
        self.is_valid(raise_exception=True)
        return PaymentOrder(**self.validated_data)


def _refuse_unknown(data: Mapping[str, Any], *, known: Mapping[str, Any]) -> None:
    unknown = sorted(name for name in data if name not in known)
    if unknown:
        sentence = f"Unknown field. There are: {', '.join(known)}."
        raise serializers.ValidationError(
            {_printable(name): [sentence] for name in unknown[:_MOST_NAMED]}
        )


def _printable(name: str) -> str:
    """A field's name as the client wrote it; lone surrogates escaped, since no answer can hold them."""
    return name[:40].encode("utf-8", "backslashreplace").decode()
