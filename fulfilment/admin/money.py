"""Amounts for people: major units with the currency's own number of decimals. Pure."""

NBSP = "\u00a0"  # an amount never breaks away from its currency

# ISO 4217, "minor unit" of every currency that does not have two decimals.
_DECIMALS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_EXPONENTS = {code: exponent for exponent, codes in _DECIMALS.items() for code in codes.split()}


def money(minor: int, currency: str) -> str:
    """`NGN 1,234.56` for 123456 minor units; integers throughout, so no cent is lost to a float."""
    exponent = _EXPONENTS.get(currency, 2)
    major, rest = divmod(abs(minor), 10**exponent)
    decimals = f".{rest:0{exponent}d}" if exponent else ""
    sign = "\N{MINUS SIGN}" if minor < 0 else ""
    return f"{currency}{NBSP}{sign}{major:,}{decimals}"
