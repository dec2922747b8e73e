"""Which client sent a request: a short label, so that a roll-out shows who is missing the key."""

import logging
import re
from typing import Any

from django.utils.module_loading import import_string

from idempotency import conf

log = logging.getLogger("idempotency")

UNKNOWN = "unknown"

_LONGEST = 64  # characters
_UNSAFE = re.compile(r"[^A-Za-z0-9._/+-]+", re.ASCII)


def label_of(request: Any) -> str:
    """What the setting CLIENT says of the request: 1 to 64 characters that are safe in any log.

    How many different labels there are is the client's to choose: whoever counts must bound them.
    """
    try:
        said = import_string(conf.current().client)(request)
    except Exception:  # a label is worth no request
        log.warning("client not named", extra={"action": "client_unnamed"}, exc_info=True)
        return UNKNOWN
    return _UNSAFE.sub("_", str(said or ""))[:_LONGEST].strip("_") or UNKNOWN


def product(request: Any) -> str:
    """The default: the first product of the User-Agent with its major version (`BankApp/4`)."""
    words = request.META.get("HTTP_USER_AGENT", "").split(maxsplit=1)
    name, _, version = (words[0] if words else "").partition("/")
    major = version.partition(".")[0]
    return f"{name}/{major}" if major else name
