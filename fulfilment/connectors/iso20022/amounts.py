"""Amounts as ISO 20022 writes them, in decimals of the major unit. Pure; never through a float."""

import re
from typing import Final
from xml.etree.ElementTree import Element

from fulfilment.currencies import exponent_of

_DECIMAL: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{0,5}))?")  # ActiveCurrencyAndAmount
_MAX: Final = 2**63 - 1  # what our own books can hold


def decimal(minor: int, currency: str) -> str:
    """`10.50` for 1050 minor units of a currency with two decimals."""
    exponent = exponent_of(currency)
    major, rest = divmod(minor, 10**exponent)
    return f"{major}.{rest:0{exponent}d}" if exponent else str(major)


def minor(element: Element | None) -> tuple[int | None, str]:
    """Minor units and currency of an amount; None where it is not one that the currency has."""
    if element is None:
        return None, ""
    currency = element.get("Ccy", "")
    found = _DECIMAL.fullmatch((element.text or "").strip())
    if found is None:
        return None, currency
    exponent = exponent_of(currency)
    major, decimals = found[1], (found[2] or "").rstrip("0")
    if len(decimals) > exponent:  # never rounded: half a cent is nobody's amount
        return None, currency
    amount = int(major + decimals.ljust(exponent, "0"))
    return (amount, currency) if amount <= _MAX else (None, currency)
