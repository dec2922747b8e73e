"""How many decimals a currency has (ISO 4217, "minor unit"). Pure."""

# Every currency that does not have two.
_DECIMALS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_EXPONENTS = {code: exponent for exponent, codes in _DECIMALS.items() for code in codes.split()}


def exponent_of(currency: str) -> int:
    """Decimals between a major and its minor unit."""
    return _EXPONENTS.get(currency, 2)
