"""What a caller asks the provider to pay, checked before anything begins."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# 16..64 of the characters that real providers accept (Paystack: a-z 0-9 _ -, 16..50).
_REFERENCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_BANK = re.compile(r"[A-Za-z0-9]{1,16}")
_ACCOUNT = re.compile(r"[A-Za-z0-9]{4,34}")  # 34: the longest IBAN
_MAX_AMOUNT = 2**63 - 1
_MAX_NARRATION = 500


class InvalidRequest(Exception):
    """The request cannot be understood; nothing was begun. The message says which part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One payment as asked for; `amount` in minor units. The account never shows in a repr."""

    reference: str
    amount: int
    currency: str
    bank: str
    account: str = field(repr=False)
    narration: str = ""

    @property
    def account_digest(self) -> str:
        """Compares accounts without keeping them."""
        return digest_of(self.account, reference=self.reference)


def read(body: bytes) -> Order:
    """The order in this JSON body. Raises `InvalidRequest`."""
    members = object_of(body)
    recipient = members.get("recipient")
    if not isinstance(recipient, dict):
        raise InvalidRequest("recipient must be an object with bank and account")
    return Order(
        reference=_text(members, "reference", _REFERENCE),
        amount=_amount(members),
        currency=_text(members, "currency", _CURRENCY),
        bank=_text(recipient, "bank", _BANK),
        account=_text(recipient, "account", _ACCOUNT),
        narration=_narration(members),
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
