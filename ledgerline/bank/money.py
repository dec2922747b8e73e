"""Money: integer minor units with their ISO 4217 currency. Pure."""

_TWO = (
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD "
    "CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD "
    "GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD "
    "MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP "
    "PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS "
    "TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG"
)
_NONE = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THREE = "BHD IQD JOD KWD LYD OMR TND"
_FOUR = "CLF UYW"

EXPONENTS: dict[str, int] = {
    code: exponent
    for exponent, codes in ((2, _TWO), (0, _NONE), (3, _THREE), (4, _FOUR))
    for code in codes.split()
}

LARGEST = 2**63 - 1  # what a bigint column holds


def written(amount: int, currency: str) -> str:
    """`12345 NGN` minor units as people write them: `NGN 123.45`; exact, never through a float."""
    exponent = EXPONENTS[currency]
    sign, digits = "-" if amount < 0 else "", str(abs(amount)).zfill(exponent + 1)
    whole = f"{int(digits[: len(digits) - exponent]):,}"
    fraction = f".{digits[len(digits) - exponent :]}" if exponent else ""
    return f"{sign}{currency} {whole}{fraction}"


def masked_name(name: str) -> str:
    """Each word's first letter; as many stars for a short word as for a long one."""
    return " ".join(f"{word[0]}***" for word in name.split())


def masked(account: str) -> str:
    """The account's last four characters; of a short one, only its last half."""
    shown = min(4, len(account) // 2)
    return "*" * (len(account) - shown) + account[len(account) - shown :]
