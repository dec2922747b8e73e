"""How a guarded request ended, told once: a log line for people, a signal for whoever counts."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.http.response import HttpResponseBase

from idempotency import signals
from idempotency.calls import Call
from idempotency.claims import Claim

log = logging.getLogger("idempotency")


@contextmanager
def watching(call: Call, operation: str) -> Iterator[None]:
    """Tell that an exception left the view; its traceback is logged by whoever turns it into a 500."""
    try:
        yield
    except Exception:
        _send("raised", 500, call=call, operation=operation, keyed=_sent_key(call))
        raise


def ended(
    action: str, response: HttpResponseBase, *, call: Call, operation: str, claim: Claim | None
) -> None:
    """Tell what was decided, and how long it took."""
    reference = {} if claim is None else {"reference": claim.reference}
    log.info(
        "idempotent request %s",
        action,
        extra={"action": action, "status": response.status_code, "operation": operation}
        | reference,
    )
    keyed = _sent_key(call)
    _send(action, response.status_code, call=call, operation=operation, keyed=keyed)


def _send(action: str, status: int, *, call: Call, operation: str, keyed: bool) -> None:
    signals.request_ended.send_robust(
        sender=operation,
        outcome=action,
        status=status,
        seconds=time.monotonic() - call.began,
        keyed=keyed,
        request=call.http,
    )


def _sent_key(call: Call) -> bool:
    return "HTTP_IDEMPOTENCY_KEY" in call.http.META
