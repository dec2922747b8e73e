"""Who was paid: compared whole, kept without what makes it usable. Pure."""

import re
from typing import Final

# A run of letters and digits as account numbers are written, with what people put in between.
_NUMBER: Final = re.compile(r"[0-9A-Za-z](?:[ -]?[0-9A-Za-z]){5,}")
_DIGITS: Final = 5  # fewer identify a bank or a branch, and no account
_SHOWN: Final = 4


def differ(ours: str, theirs: str) -> bool:
    """Did they pay somebody else? Not where one side names nobody.

    Spaces, hyphens and case do not count: an IBAN is written both ways.
    """
    return bool(ours and theirs) and _bare(ours) != _bare(theirs)


def masked(recipient: str) -> str:
    """The last four characters of every number in it; what is masked already stays as it is."""
    return _NUMBER.sub(lambda found: _mask(found.group()), recipient)


def _bare(recipient: str) -> str:
    return re.sub(r"[ -]", "", recipient).casefold()


def _mask(number: str) -> str:
    if sum(c.isdigit() for c in number) < _DIGITS:
        return number  # a name
    bare = re.sub(r"[ -]", "", number)
    return bare[-_SHOWN:].rjust(len(bare), "*")
