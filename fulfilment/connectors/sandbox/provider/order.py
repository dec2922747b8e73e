"""What a caller asks the provider to do, checked before anything begins."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# 16..64 of the characters that real providers accept (Paystack: a-z 0-9 _ -, 16..50).
_REFERENCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_BANK = re.compile(r"[A-Za-z0-9]{1,16}")
_ACCOUNT = re.compile(r"[A-Za-z0-9]{4,34}")  # 34: the longest IBAN
_PHONE = re.compile(r"\+?[0-9]{7,15}")  # E.164, or as it is dialled at home
_MAX_AMOUNT = 2**63 - 1
_MAX_NARRATION = 500
_MAX_METADATA = 4000  # characters of JSON


class Product(StrEnum):
    """What the provider offers. References are unique within each."""

    TRANSFER = "transfer"  # money to a bank account
    AIRTIME = "airtime"  # credit for a telephone
    CHECKOUT = "checkout"  # a page at which somebody pays us


class InvalidRequest(Exception):
    """The request cannot be understood; nothing was begun. The message says which part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One thing as asked for; `amount` in minor units. The account never shows in a repr."""

    kind: Product
    reference: str
    amount: int
    currency: str
    bank: str = ""
    account: str = field(default="", repr=False)  # for airtime the telephone number
    narration: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def account_digest(self) -> str:
        """Compares accounts without keeping them."""
        return digest_of(self.account, reference=self.reference)


def read(body: bytes, *, product: Product) -> Order:
    """The order in this JSON body. Raises `InvalidRequest`."""
    members = object_of(body)
    metadata = _metadata(members) if product is Product.CHECKOUT else {}
    bank, account = _recipient(members, product)
    return Order(
        kind=product,
        reference=_text(members, "reference", _REFERENCE),
        amount=_amount(members),
        currency=_text(members, "currency", _CURRENCY),
        bank=bank,
        account=account,
        narration=_narration(metadata | members),
        metadata=metadata,
    )


def object_of(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`. Raises `InvalidRequest`."""
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        raise InvalidRequest("the body must be a JSON object")
    return members


def digest_of(account: str, *, reference: str) -> str:
    """Differs per payment, so equal digests never reveal that two payments share an account."""
    return hashlib.sha256(f"{reference}\n{account}".encode()).hexdigest()


def mask(account: str) -> str:
    """The last four characters, the rest starred: what answers and pages may show."""
    shown = account[-4:] if len(account) > 4 else ""
    return shown.rjust(len(account), "*")


def _recipient(members: Mapping[str, Any], product: Product) -> tuple[str, str]:
    """Bank and account; of a telephone only the number, of a checkout nothing."""
    if product is Product.CHECKOUT:
        return "", ""
    recipient = members.get("recipient")
    if not isinstance(recipient, dict):
        raise InvalidRequest("recipient must be an object with bank and account, or with phone")
    if product is Product.AIRTIME:
        return "", _text(recipient, "phone", _PHONE)
    return _text(recipient, "bank", _BANK), _text(recipient, "account", _ACCOUNT)


def _text(members: Mapping[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise InvalidRequest(f"{name} must be text of the form {pattern.pattern}")
    return value


def _amount(members: Mapping[str, Any]) -> int:
    amount = members.get("amount")
    if type(amount) is not int or not 0 < amount <= _MAX_AMOUNT:  # bool is an int, too
        raise InvalidRequest("amount must be a positive whole number of minor units")
    return amount


def _narration(members: Mapping[str, Any]) -> str:
    narration = members.get("narration", "")
    if not isinstance(narration, str) or len(narration) > _MAX_NARRATION:
        raise InvalidRequest(f"narration must be text of at most {_MAX_NARRATION} characters")
    return narration


def _metadata(members: Mapping[str, Any]) -> dict[str, Any]:
    metadata = members.get("metadata", {})
    if not isinstance(metadata, dict) or len(json.dumps(metadata)) > _MAX_METADATA:
        raise InvalidRequest(f"metadata must be an object of at most {_MAX_METADATA} characters")
    return metadata
