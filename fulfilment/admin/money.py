"""Amounts for people: major units with the currency's own number of decimals. Pure."""

from fulfilment.currencies import exponent_of

NBSP = "\u00a0"  # an amount never breaks away from its currency


def money(minor: int, currency: str) -> str:
    """`NGN 1,234.56` for 123456 minor units; integers throughout, so no cent is lost to a float."""
    exponent = exponent_of(currency)
    major, rest = divmod(abs(minor), 10**exponent)
    decimals = f".{rest:0{exponent}d}" if exponent else ""
    sign = "\N{MINUS SIGN}" if minor < 0 else ""
    return f"{currency}{NBSP}{sign}{major:,}{decimals}"
